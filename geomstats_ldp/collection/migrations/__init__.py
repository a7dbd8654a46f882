"""Versions of the tables, by Alembic."""

from __future__ import annotations

from pathlib import Path

from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory


def migrate(engine):
    """Bring the tables of a database to the newest version."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config)

    def upgrade(revision, context):
        return scripts._upgrade_revs("head", revision)

    with EnvironmentContext(config, scripts, fn=upgrade) as environment:
        with engine.connect() as connection:
            environment.configure(connection=connection)
            with environment.begin_transaction():
                environment.run_migrations()
            connection.commit()
