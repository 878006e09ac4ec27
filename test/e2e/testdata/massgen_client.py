"""A client of the delegation protocol, version 1, as MassGen's own subagent manager behaves.

Written from a description of that behaviour and in the standard library only, so that the end-to-end test meets the
habits of a client that Torno did not write: it polls every half second, compares nothing in a response, retries what
does not parse, gives up at exactly its own timeout, and never removes a sentinel.

    python3 massgen_client.py STORY OUTBOX PARENT_WORKSPACE LOGS

runs one story and prints what came of it as one JSON object.
"""

import asyncio
import datetime
import json
import pathlib
import secrets
import sys
import time

POLL = 0.5  # seconds
GRACE = 30  # seconds after the timeout; never reached, because spawn gives up earlier


class Client:
    """The parent's side of one outbox."""

    def __init__(self, outbox, parent, logs):
        self.outbox = pathlib.Path(outbox)
        self.parent = pathlib.Path(parent)
        self.logs = pathlib.Path(logs)
        self.tasks = {}

    def workspace(self, subagent):
        return self.parent / "subagents" / subagent / "workspace"

    def answer_file(self, subagent):
        return self.workspace(subagent) / "answer.txt"

    def config(self, subagent):
        """What the real client sends, docker settings of the parent included."""
        workspace = self.workspace(subagent)
        return {
            "agents": [
                {
                    "id": "a1",
                    "backend": {
                        "type": "codex",
                        "model": "gpt-5",
                        "cwd": str(workspace / "agent_1"),
                        "enable_mcp_command_line": True,
                        "command_line_execution_mode": "docker",
                        "command_line_docker_image": "img",
                        "command_line_docker_network_mode": "bridge",
                    },
                }
            ],
            "orchestrator": {
                "snapshot_storage": str(workspace / "snapshots"),
                "agent_temporary_workspace": str(workspace / "temp"),
                "coordination": {"enable_subagents": False},
                "context_paths": [{"path": str(self.parent), "permission": "read"}],
            },
        }

    def start(self, subagent, task, timeout):
        """Spawns in the background."""
        self.tasks[subagent] = asyncio.create_task(self.spawn(subagent, task, timeout))
        return self.tasks[subagent]

    async def spawn(self, subagent, task, timeout):
        """Runs a child to its end, or gives up after timeout seconds, counted from before the request is written."""
        begin = time.monotonic()
        try:
            result = await asyncio.wait_for(self.execute(subagent, task, timeout), timeout)
        except asyncio.TimeoutError:
            result = self.recover(subagent, timeout)
        except asyncio.CancelledError:
            result = self.result(subagent, "error", None, "Subagent cancelled")
        result["execution_time_seconds"] = time.monotonic() - begin
        return result

    async def cancel(self, subagent):
        """Cancels a child of this client."""
        task = self.tasks.get(subagent)
        if task is None or task.done():
            return {"success": False, "error": f"Subagent not found: {subagent}"}
        self.touch_sentinel(subagent)
        task.cancel()
        return {"success": True, "subagent_id": subagent, "status": "cancelled"}

    async def execute(self, subagent, task, timeout):
        """Puts the request into the outbox and waits for the response."""
        workspace = self.workspace(subagent)
        self.outbox.mkdir(parents=True, exist_ok=True)
        workspace.mkdir(parents=True, exist_ok=True)
        config = self.config(subagent)
        # JSON is YAML, and the standard library writes no other.
        (workspace / f"subagent_config_{subagent}.yaml").write_text(json.dumps(config, indent=2))
        self.link_logs(subagent)
        request = self.outbox / f"request_{subagent}.json"
        response = self.outbox / f"response_{subagent}.json"
        self.write(
            request,
            {
                "version": 1,
                "subagent_id": subagent,
                "request_id": secrets.token_hex(8),
                "task": task,
                "yaml_config": config,
                "answer_file": str(self.answer_file(subagent)),
                "workspace": str(workspace),
                "timeout_seconds": timeout,
                "created_at": datetime.datetime.now(datetime.timezone.utc).isoformat(),
            },
        )
        try:
            deadline = time.monotonic() + timeout + GRACE
            while time.monotonic() < deadline:
                data = self.read(response)
                if data is not None:
                    return self.understand(subagent, data, timeout)
                await asyncio.sleep(POLL)
            self.touch_sentinel(subagent)
            return self.recover(subagent, timeout)
        except asyncio.CancelledError:
            self.touch_sentinel(subagent)
            return self.recover(subagent, timeout)
        finally:
            request.unlink(missing_ok=True)
            response.unlink(missing_ok=True)

    def link_logs(self, subagent):
        link = self.logs / "subagents" / subagent / "live_logs"
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(self.workspace(subagent) / ".massgen" / "massgen_logs")

    @staticmethod
    def write(path, body):
        temporary = path.with_name(path.name + ".tmp")
        temporary.write_text(json.dumps(body, indent=2))
        temporary.rename(path)

    @staticmethod
    def read(path):
        """The response, or nothing when it is not there or does not parse yet."""
        try:
            return json.loads(path.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return None

    def touch_sentinel(self, subagent):
        (self.outbox / f"cancel_{subagent}").touch()

    def answer(self, subagent):
        try:
            return self.answer_file(subagent).read_text().strip()
        except FileNotFoundError:
            return ""

    def understand(self, subagent, response, timeout):
        """Makes a result of a response; which request it answers is not looked at."""
        status, code = response["status"], response["exit_code"]
        if status == "completed" and code == 0:
            return self.result(subagent, "completed", self.answer(subagent), None)
        if status == "timeout":
            return self.recover(subagent, timeout)
        tail = response.get("stderr_tail", "")[:500]
        error = f"Delegated subagent {subagent} {status} (exit_code={code}): {tail}"
        return self.result(subagent, "error", None, error)

    def recover(self, subagent, timeout):
        """Makes a result of what the child left behind."""
        answer = self.answer(subagent)
        error = f"Subagent exceeded timeout of {timeout} seconds"
        return self.result(subagent, "partial" if answer else "timeout", answer or None, error)

    def result(self, subagent, status, answer, error):
        return {
            "subagent_id": subagent,
            "status": status,
            "success": status == "completed",
            "answer": answer,
            "workspace": str(self.workspace(subagent)),
            "error": error,
        }


# The stories. The task of a child is a script of the shell, to which $answer is the answer file.


async def story_spawn(client):
    """A child that looks at its parent's workspace and works in its own."""
    (client.parent / "CONTEXT.md").write_text("the parent's notes\n")
    task = f"""
        cat {client.parent}/CONTEXT.md >"$answer"
        if (echo x >>{client.parent}/CONTEXT.md) 2>/dev/null; then echo WRITABLE >>"$answer"; fi
        pwd >>"$answer"
        echo mine >made.txt
        cat "$config" >config.seen
    """
    return await client.spawn("reader", task, 60)


async def story_fail(client):
    """A child that fails."""
    return await client.spawn("failing", "echo no luck >&2; exit 7", 60)


async def story_cancel(client):
    """A child that is cancelled once it runs; then the same id again, without a pause."""
    running = client.start("digger", "touch running; exec sleep 600", 60)
    while not (client.workspace("digger") / "running").exists():
        await asyncio.sleep(0.02)
    cancelled = await client.cancel("digger")
    ended = await running
    again = await client.spawn("digger", 'echo second >"$answer"', 60)
    return {"cancelled": cancelled, "ended": ended, "again": again}


async def story_timeout(client):
    """A child that is too slow, but not before it has a draft; then the same id again, whose answer is its own."""
    for seconds in (3, 12, 48):  # a loaded machine does not start a child in three
        late = await client.spawn("slow", 'echo draft >"$answer"; exec sleep 600', seconds)
        if late["answer"]:
            break
    silent = await client.spawn("slow", "true", 60)
    done = await client.spawn("slow", 'echo finished >"$answer"', 60)
    return {"seconds": seconds, "late": late, "silent": silent, "done": done}


async def story_parallel(client):
    """Three children that wait for each other."""
    task = """
        touch up
        until [ -e ../../p0/workspace/up ] && [ -e ../../p1/workspace/up ] && [ -e ../../p2/workspace/up ]; do
            sleep 0.02
        done
        echo met >"$answer"
    """
    return await asyncio.gather(*(client.spawn(f"p{i}", task, 60) for i in range(3)))


def main():
    story, *places = sys.argv[1:]
    print(json.dumps(asyncio.run(globals()[f"story_{story}"](Client(*places)))))


if __name__ == "__main__":
    main()
