-- When a key or an admin token was last used. No part of the document: it has no versions, and no revision. The servers
-- write it at most once a minute for each. NULL: not since these columns exist.
--
-- No index has the columns, so an update of them touches no index, if the row's page has room.
ALTER TABLE keys ADD COLUMN used_at timestamptz;
ALTER TABLE tokens ADD COLUMN used_at timestamptz;
ALTER TABLE keys SET (fillfactor = 90);
ALTER TABLE tokens SET (fillfactor = 90);
