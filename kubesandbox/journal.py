"""A file in which the objects of a sandbox survive a restart: an SQLite database with one row for each object.

A write is in the file before it is answered; a process that is killed loses nothing (a machine that loses power may
lose the last moments, `synchronous = NORMAL`). History is not kept: after a restart, old revisions are answered 410.
"""

import sqlite3
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path

from kubesandbox.access import Access
from kubesandbox.errors import BadFile
from kubesandbox.status import Refused
from kubesandbox.store import Key, StoreChange, Stored

FORMAT = 1
TABLES = """
CREATE TABLE IF NOT EXISTS objects (
  resource TEXT, namespace TEXT, name TEXT, revision INTEGER, body BLOB, PRIMARY KEY (resource, namespace, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counter (revision INTEGER);
INSERT INTO counter SELECT 1 WHERE NOT EXISTS (SELECT * FROM counter);
CREATE TABLE IF NOT EXISTS access (token TEXT, address TEXT, pair BLOB);
"""


class Journal:
    """An open data file, which no second process can open."""

    def __init__(self, path: Path) -> None:
        """Raises BadFile if it is not a data file of a sandbox, or another process uses it."""
        self._path = path
        try:
            self._db = self._opened(path)
        except (sqlite3.Error, OSError) as error:
            busy = "locked" in str(error)
            mend = "another sandbox uses it: stop that one" if busy else "choose another file with --data"
            raise BadFile(f"the data file {path} cannot be used: {error}; {mend}") from error

    @staticmethod
    def _opened(path: Path) -> sqlite3.Connection:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(0o600)  # there are Secrets in it
        db = sqlite3.connect(path, isolation_level=None, timeout=0.5)
        try:
            Journal._prepare(db)
        except sqlite3.Error:
            db.close()
            raise
        return db

    @staticmethod
    def _prepare(db: sqlite3.Connection) -> None:
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        found = db.execute("PRAGMA user_version").fetchone()[0]
        if found not in (0, FORMAT):
            raise sqlite3.DatabaseError(f"it is of format {found}, this program writes {FORMAT}")
        db.executescript(f"BEGIN IMMEDIATE; {TABLES} PRAGMA user_version = {FORMAT}; COMMIT;")

    def objects(self) -> Iterator[Stored]:
        """What was kept."""
        for resource, namespace, name, revision, body in self._db.execute("SELECT * FROM objects"):
            yield Stored(Key(resource, namespace, name), revision, body)

    def revision(self) -> int:
        """The last revision that was given out."""
        return int(self._db.execute("SELECT revision FROM counter").fetchone()[0])

    def access(self) -> Access:
        """What let clients in when the file was last used."""
        row = self._db.execute("SELECT * FROM access").fetchone()
        return Access(*row) if row else Access()

    def keep(self, access: Access) -> None:
        """In place of the access that was kept before."""
        with self._db:
            self._db.execute("DELETE FROM access")
            self._db.execute("INSERT INTO access VALUES (?, ?, ?)", (access.token, access.address, access.pair))

    def append(self, change: StoreChange) -> None:
        """Keep one write. Raises Refused 500 where the file cannot take it; then nothing has happened."""
        try:
            self._db.execute("BEGIN")
            if change.after is None:
                where = "resource = ? AND namespace = ? AND name = ?"
                self._db.execute(f"DELETE FROM objects WHERE {where}", change.key)
            else:
                row = (*change.key, change.revision, change.after.body)
                self._db.execute("INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?, ?)", row)
            self._db.execute("UPDATE counter SET revision = ?", (change.revision,))
            self._db.execute("COMMIT")
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            message = f"the data file {self._path} cannot be written: {error}"
            raise Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "InternalError", message) from error

    def close(self) -> None:
        """Everything is in the one file then."""
        self._db.close()
