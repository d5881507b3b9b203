"""Who may do what: API tokens, users, their sessions and their roles in organisations. Knows nothing of HTTP."""
