"""Run by Alembic for each upgrade. The connection comes with its transaction begun: all steps are done, or none."""

from alembic import context

from patrol.database.schema import all_tables

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=all_tables(),
    render_as_batch=True,  # SQLite alters a table by rebuilding it
)
context.run_migrations()
