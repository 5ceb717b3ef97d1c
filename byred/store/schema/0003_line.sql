-- The queue is read from its head after every change, however long it is; a prompt stands in the
-- way of what a row has after it.
CREATE INDEX tasks_line ON tasks (state, priority DESC, id, common_dir) WHERE state = 'queued';
