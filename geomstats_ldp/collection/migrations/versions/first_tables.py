"""First tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _invited():
    return sa.LargeBinary(32), sa.ForeignKey("invitations.token_hash")


def upgrade():
    """Make the tables."""
    # What a collection is: one row.
    op.create_table(
        "study",
        sa.Column("id", sa.Integer, sa.CheckConstraint("id = 1"), primary_key=True),
        sa.Column("protocol", sa.Text, nullable=False),
        sa.Column("description", sa.Text, nullable=False),  # the study file, as JSON
        sa.Column("admin_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("opened", sa.BigInteger, nullable=False),
    )
    # SHA-256 of the one-time tokens.
    op.create_table("invitations", sa.Column("token_hash", sa.LargeBinary(32), primary_key=True))
    # Questions dealt, one a token and round.
    op.create_table(
        "questions",
        sa.Column("token_hash", *_invited(), primary_key=True),
        sa.Column("round", sa.Integer, primary_key=True),
        sa.Column("direction", sa.Integer, nullable=False),
        sa.Column("lease_until", sa.BigInteger, nullable=False),
    )
    op.create_index("questions_by_round", "questions", ["round", "direction"])
    # Reports in the order in which they came, one a token. `candidate` is an integer of 64 bits
    # less 2^63, or `grid` holds the integers of the Gaussian mechanism.
    op.create_table(
        "reports",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("token_hash", *_invited(), nullable=False, unique=True),
        sa.Column("report_id", sa.String(64), nullable=False, unique=True),
        sa.Column("round", sa.Integer, nullable=False),
        sa.Column("direction", sa.Integer, nullable=False),
        sa.Column("candidate", sa.BigInteger),
        sa.Column("grid", sa.LargeBinary),
        sqlite_autoincrement=True,
    )
    # Rounds that were closed: the last report counted, and where the next one asks.
    op.create_table(
        "closings",
        sa.Column("round", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("last_report", sa.BigInteger, nullable=False),
        sa.Column("center", sa.Text, nullable=False),
        sa.Column("closed", sa.BigInteger, nullable=False),
    )
