// Package adapter starts an agent as its child, reads what the agent prints, and tells it as lines of package agent. It runs in the
// sandbox as what init starts:
//
//	sandbox-init agent NAME --task FILE [--model M] [--answer FILE] [--session FILE] [--settings FILE] [--ask tools] [--hear messages] -- PROGRAM [ARG…]
//
// NAME is claude or codex. The adapter appends to the operator's PROGRAM and ARGs the flags without which it could not read the agent.
// Its promises:
//
//   - A line of the agent's is told as soon as it is whole, each line with one write. Nothing waits for more.
//   - What the agent prints can end neither the adapter nor its memory: a line longer than maxLine is left out, and a raw line says
//     how long it was. A line that the adapter does not understand is told as raw.
//   - There is always a result, also where the agent is not there, is too old, or ends without one. A failed one says the next step.
//   - What the parent says comes as lines on standard input (agent.Input). The agent is told each number once, in order, and each is
//     acknowledged when the agent's pipe has the whole of it (Codex's server says itself that it has it), or refused with the reason: after the
//     last turn, or by an agent that hears nothing while it works. A torn line is dropped, since it comes again.
//   - The adapter tells a question when the agent asks it. It repeats all open questions when the host asks for them: the host may have lost some.
//   - The answer file is written whole, and only when the last turn did not fail.
//   - The exit code is the agent's own: n, or 128+n for signal n, 126 and 127 as every shell has them. An agent that says 0
//     although its turn failed has 1.
//   - What the agent needs to go on with its conversation in another sandbox is told as a session, at the end of a turn and of the agent.
//     With --session the agent goes on with one: bundle.go has its form, and session_linux.go the files of each agent.
//   - With --settings the agent is told to keep to rules for its tools, has its own system prompt, and starts the servers that it is given. Rules
//     that it cannot be told end it before it starts.
//   - Init's signals reach the agent's process group, which the adapter is in. It outlives them, and ends with the agent.
//
// Codex is run in two ways: as codex exec, which does its task and hears nothing (codex.go), and with --ask or --hear by its server, which is talked with
// (server.go, and beside it what it prints, does and asks).
//
// The parsers (claude.go, codex.go, serverread.go) are functions of a line and of a small state. All that they decode they decode loosely: a field
// of another type than is known counts as missing, so that a newer agent is understood as far as it is.
package adapter
