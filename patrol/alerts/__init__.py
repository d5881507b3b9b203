"""Alerts of other systems: what they report, which resource each is about, and which run each asks for."""
