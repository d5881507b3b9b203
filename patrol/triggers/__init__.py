"""Why a run should happen: reasons, what a run would be about, and which trigger is next. Pure."""
