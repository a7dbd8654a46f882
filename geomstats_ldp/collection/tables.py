"""Databases of a collection, SQLite or PostgreSQL, and how to connect to them.

Their tables are in `migrations`.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager

from sqlalchemy import create_engine, event, text
from sqlalchemy.engine import make_url

from geomstats_ldp.exceptions import NotReadyError, ProtocolError

#: Number of the lock that orders reports and closings on PostgreSQL.
_LOCK = 0x6C6470


def connect(url):
    """Engine of a database, whose URL is as SQLAlchemy writes them.

    ``sqlite:///collection.db`` for example, or ``postgresql://user@host/name``, to which psycopg
    connects. Others raise ProtocolError.
    """
    address = make_url(url)
    backend = address.get_backend_name()
    if backend not in ("sqlite", "postgresql"):
        raise ProtocolError(f"database must be SQLite or PostgreSQL; got {backend!r}")
    # Parameters of statements are candidates and hashes; no error text shows them.
    options = {"hide_parameters": True, "pool_pre_ping": True}
    if backend == "postgresql":
        if address.drivername == "postgresql":  # which driver that means depends on the release
            address = address.set(drivername="postgresql+psycopg")
        return create_engine(address, **options)
    engine = create_engine(address, **options, connect_args={"timeout": 60})
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def make_file(engine):
    """Make the file of an SQLite database, unless it is there, for its owner alone."""
    path = engine.url.database
    if engine.dialect.name == "sqlite" and path and path != ":memory:":
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))


def check_exists(engine):
    """Raise NotReadyError if the file of an SQLite database is missing; it would be made."""
    path = engine.url.database
    if engine.dialect.name == "sqlite" and path and not os.path.exists(path):
        raise NotReadyError(f"there is no database {path}; `collect new` makes one")


def _prepare_sqlite(connection, _record):
    if isinstance(connection, sqlite3.Connection):
        connection.isolation_level = None  # the transactions are those of `_begin_sqlite`
        cursor = connection.cursor()
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()


def _begin_sqlite(connection):
    is_reading = connection.get_execution_options().get("is_reading", False)
    connection.exec_driver_sql("BEGIN" if is_reading else "BEGIN IMMEDIATE")


@contextmanager
def reading(engine):
    """Connection whose statements see one moment."""
    options = {"is_reading": True}
    if engine.dialect.name == "postgresql":
        options["isolation_level"] = "REPEATABLE READ"
    with engine.connect() as connection:
        with connection.execution_options(**options).begin():
            yield connection


@contextmanager
def writing(engine, lock="pg_advisory_xact_lock_shared"):
    """Connection that writes beside others; all is on disk at the end, or nothing is done."""
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text(f"SELECT {lock}({_LOCK})"))
        yield connection


def writing_alone(engine):
    """Connection that writes while nobody else does: reports up to the last are all there.

    On PostgreSQL a number is given before its row can be seen. A writer whose row cannot be seen
    yet holds the shared lock.
    """
    return writing(engine, "pg_advisory_xact_lock")


def settled(engine):
    """Connection that sees all reports up to the last there is: none comes later with less."""
    return reading(engine) if engine.dialect.name == "sqlite" else writing_alone(engine)
