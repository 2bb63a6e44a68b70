-- The trace of the call that made a revision, so that its way to the agents can be followed on every server. NULL: the
-- call was not traced, or the server is of an earlier release.
ALTER TABLE revisions ADD COLUMN traceparent text CHECK (length(traceparent) <= 128);
