-- The chain of every revision: whether somebody who was at one is of this history. A database that is older than this
-- table knows that of its newest revision, and of those that follow.

CREATE TABLE revisions (
  revision bigint PRIMARY KEY,
  chain    bytea NOT NULL,
  made_at  timestamptz NOT NULL
);
INSERT INTO revisions (revision, chain, made_at) SELECT revision, chain, made_at FROM revision;

-- Like the row it is taken from, it is about no organization: there is nothing to hide.
GRANT SELECT, INSERT ON revisions TO {{app}};
