"""What byred promises, by name; a test that proves one says so: `@pytest.mark.promise("name")`.

`tests/conftest.py` fails a run of the whole suite in which a promise was proven by no test, and any
run in which a test names a promise that is not here. A promise is something that a person or a
client relies on; how it is kept is not.
"""

PROMISES: dict[str, str] = {
    # Facts
    "acknowledged_means_stored": (
        "What was acknowledged to anybody is on the disk first, and there after any crash."
    ),
    "state_with_its_event": (
        "A change and the event that tells of it are stored together or not at all."
    ),
    "event_stream_has_no_gap": (
        "Who comes back with the last seq that it saw gets every later event, once, in order."
    ),
    "bad_input_changes_nothing": "A request that is refused changes nothing.",
    "damaged_database_untouched": (
        "A database that is damaged or of another program is refused and left as it is."
    ),
    "newer_database_untouched": (
        "A database of a newer byred is refused and left as it is; one of an older is brought up."
    ),
    "full_disk_loses_nothing": (
        "On a full disk new work is refused with a clear error, nothing stored is lost or half "
        "stored, and work goes on once there is room."
    ),
    "backup_is_whole": (
        "A backup taken while the daemon writes is one moment of it, and never replaces a file."
    ),
    # Tasks
    "no_task_lost": "A task that was accepted comes to an end that it deserves, whatever dies.",
    "agents_outlive_the_daemon": (
        "With servers on sockets a restart or a crash of the daemon costs no agent a step."
    ),
    "no_task_twice": "No task is worked on by two servers at once, or again once it is done.",
    "numbers_are_used_once": (
        "No task is given a number that another one of the same state directory ever had, also "
        "after its database was set aside or an older one put back."
    ),
    "daemons_share_a_repository": (
        "Of two daemons in one repository neither shows, takes up or removes what is of the "
        "other's tasks, whatever numbers and names they have."
    ),
    "same_key_same_task": "Submitting again under the same key gives the first task.",
    "wish_survives": (
        "What a person asked of a task that runs (cancel, hold, interrupt) is carried out, also "
        "when its server or the daemon dies first."
    ),
    "limits_hold": "At no moment more tasks run than scheduler.max_running and max_per_repo say.",
    "retries_are_bounded": (
        "A failed attempt is tried again after the delay of the settings, as often as they say, "
        "and waiting for a slot is no attempt."
    ),
    "account_limit_holds_all": (
        "When the account meets its usage limit nothing starts, no attempt is used up, and all go "
        "on once it works again."
    ),
    "other_tasks_unharmed": (
        "A server that dies, hangs, floods or talks garbage is trouble of its own task alone."
    ),
    "history_is_whole": (
        "A task's history has all that was asked, said and run, once and in order, with codex's "
        "own tokens, whatever was killed and long after the agent is gone."
    ),
    # Questions
    "no_question_lost": "An open question outlives its server, the daemon and the machine.",
    "first_answer_wins": "A question is answered once; who comes second is told who was first.",
    "answer_delivered_once": "The answer to a question reaches the model exactly once.",
    # What a task owns
    "no_process_left": "When a task or the daemon ends, no process that the task started is left.",
    "no_foreign_process_signalled": (
        "Nothing is signalled whose identity (pid, start time, boot) is not the stored one."
    ),
    "no_port_doubled": "No two tasks hold the same port, and each task sees its own.",
    "identity_on_every_commit": "Every commit of a task carries the identity of that task.",
    "main_checkout_untouched": (
        "The repository's own checkout, index and current branch stay as they were."
    ),
    "every_turn_is_kept": (
        "At the end of every turn the files are kept under a ref, untracked ones too, and neither "
        "index nor HEAD of the agent moves for it."
    ),
    "fork_has_files_and_thread": (
        "A task that is forked at a turn has the files and the thread as they were at its end, and "
        "a worktree, home, branch, identity and ports of its own."
    ),
    "nothing_of_a_task_deleted": (
        "No byte that a task had committed or that a checkpoint held becomes unreachable, whatever "
        "is discarded, cleaned up or put back; undelete brings a worktree back as it was."
    ),
    "conflicts_change_nothing": (
        "A merge that conflicts, or whose target is not clean, changes nothing and names the files."
    ),
    "only_the_trusted_run_commands": (
        "No command, copied file or variable of a repository's .byre.toml takes effect before "
        "somebody said that they trust it, and none that an agent wrote into it."
    ),
    "warm_ground_is_clean": (
        "A worktree that was made ahead, or was another task's before, is what plain git would "
        "make, with nothing of anybody in it."
    ),
    "secrets_stay_out": (
        "No variable of the daemon's environment reaches an agent unless the allow-list names it."
    ),
    # The daemon and its faces
    "one_daemon_per_state": "Of several daemons on one state directory exactly one serves.",
    "stop_is_bounded": "SIGTERM ends the daemon with status 0 within daemon.stop_timeout.",
    "bad_config_refused": (
        "A bad configuration ends the start with status 2 and one line: file, key, expectation."
    ),
    "bad_config_keeps_running": "A bad reload leaves the running settings in force and says so.",
    "only_the_owner_connects": "The socket serves the uids that its owner and group allow.",
    "other_clients_unharmed": (
        "A client that is slow, gone, flooding or talking garbage delays no other."
    ),
    "errors_say_what_to_do": (
        "Every refusal is one sentence that says what was wrong and what to do, with the exit "
        "status of the contract."
    ),
    "old_codex_refused": "A codex that is too old is refused by name and version.",
    "idle_costs_nothing": "A daemon with nothing to do uses no measurable CPU.",
    "demo_works_anywhere": (
        "The demo needs no account and no network, ends with 0 and leaves nothing behind."
    ),
}
