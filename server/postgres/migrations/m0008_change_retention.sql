-- Old revisions, which nobody follows any more, are removed from `changes` and `revisions`.
--
-- Every object's versions and the audit trail stay whole: rollbacks and `audit verify` need them.

-- The newest revision that was removed; 0: none was. Its one row is never removed.
CREATE TABLE forgotten_changes (
  one      boolean PRIMARY KEY DEFAULT true CHECK (one),
  revision bigint NOT NULL
);
INSERT INTO forgotten_changes (revision) VALUES (0);
GRANT SELECT ON forgotten_changes TO {{app}};

DO $$
DECLARE
  org text := '(SELECT current_setting(''sluice.organization'', true))';
BEGIN
  EXECUTE format('CREATE POLICY forget ON changes FOR DELETE USING (%s = ''*'')', org);

  -- The application's role may not delete rows of these tables. This function, which runs as their owner, deletes only the
  -- oldest: revisions that are older than `age` and not among the `kept` newest. One call removes whole revisions with
  -- about `batch` changes together. Returns how many revisions it removed: 0 also while another server removes some.
  -- REQUIRES: the transaction's scope is everything.
  EXECUTE format($create$
    CREATE FUNCTION forget_changes(kept bigint, age interval, batch bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = %I, pg_temp AS $body$
    DECLARE
      done   bigint;
      last   bigint;
      filled bigint;
      taken  bigint;
    BEGIN
      IF NOT pg_try_advisory_xact_lock(7308620153717351267) THEN RETURN 0; END IF;
      SELECT revision INTO done FROM forgotten_changes;
      -- Revisions are made in the order of their times, so the first young one ends the batch.
      SELECT max(revision) INTO last
      FROM (SELECT h.revision, h.made_at FROM revisions h
            WHERE h.revision > done AND h.revision <= (SELECT r.revision FROM revision r) - greatest(kept, 1)
            ORDER BY h.revision LIMIT greatest(batch, 1)) oldest
      WHERE made_at < now() - greatest(age, interval '1 hour');
      IF last IS NULL THEN RETURN 0; END IF;
      SELECT count(*), max(c.revision) INTO taken, filled
      FROM (SELECT revision FROM changes WHERE revision > done ORDER BY revision, ordinal LIMIT greatest(batch, 1)) c;
      -- The newest revision of a full batch may have more changes. A revision that is larger than a batch goes as a whole.
      IF taken = greatest(batch, 1) THEN last := least(last, greatest(filled - 1, (SELECT min(revision) FROM changes))); END IF;
      DELETE FROM changes WHERE revision <= last;
      DELETE FROM revisions WHERE revision <= last;
      UPDATE forgotten_changes SET revision = last;
      RETURN last - done;
    END $body$ $create$, current_schema());
END $$;

REVOKE ALL ON FUNCTION forget_changes(bigint, interval, bigint) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION forget_changes(bigint, interval, bigint) TO {{app}};
