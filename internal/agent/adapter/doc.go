// Package adapter starts an agent as its child, reads the agent's output, and reports it as lines of package agent. It
// runs in the sandbox as the program that init starts:
//
//	sandbox-init agent NAME --task FILE [--model M] [--config FILE] [--answer FILE] [--session FILE] [--settings FILE] [--ask tools] [--hear messages] -- PROGRAM [ARG…]
//
// NAME is claude, codex or massgen. The adapter appends flags to the operator's PROGRAM and ARGs: without them it could
// not read the agent. Its promises:
//
//   - The adapter reports a line of the agent as soon as the line is whole, and writes each of its own lines with one
//     write. Nothing waits for more output.
//   - The agent's output can neither end the adapter nor exhaust its memory. The adapter leaves out a line longer than
//     maxLine, and reports its length in a raw line. It reports a line that it does not understand as raw.
//   - There is always a result, even if the agent does not exist, is too old, or ends without one. A failed result
//     names the next step.
//   - The parent's messages come as lines on standard input (agent.Input). The agent gets each number once, in order.
//     The adapter acknowledges a number when the agent's pipe has taken the whole of it; for Codex's server, when the
//     server itself says that it has the message. Otherwise the adapter refuses the number and gives the reason: the
//     message came after the last turn, or the agent hears nothing while it works. The adapter drops a torn line,
//     because that line comes again.
//   - The adapter reports a question when the agent asks it. It repeats all open questions when the host asks for them:
//     the host may have lost some.
//   - The answer file is written whole, and only if the last turn did not fail. There is one exception: if MassGen's
//     time is up, the adapter keeps the answer that MassGen had (massgenend.go).
//   - The exit code is the agent's own: n, or 128+n for signal n; 126 and 127 have the meaning that every shell gives
//     them. If the agent's turn failed but the agent ends with 0, the code is 1.
//   - The adapter reports everything that the agent needs to go on with its conversation in another sandbox. It does so
//     as a session, at the end of each turn and at the end of the agent. With --session the agent goes on with such a
//     session. bundle.go has the form of a session, session_linux.go the files of each agent.
//   - With --settings the agent keeps to rules for its tools, has its own system prompt, and starts the servers that
//     the settings give it. If the agent cannot be told the rules, the run ends before the agent starts.
//   - Init's signals reach the agent's process group. The adapter is in that group too, but it outlives the signals,
//     and ends with the agent.
//
// The adapter runs Codex in two ways. As codex exec, Codex does its task and hears nothing (codex.go). With --ask or
// --hear the adapter talks with Codex's server (server.go; the other server*.go files handle its output, its items and
// its questions).
//
// The parsers (claude.go, codex.go, serverread.go) are functions of a line and of a small state. They decode everything
// loosely: a field of an unexpected type counts as missing. So the adapter understands as much as it can of a newer
// agent.
package adapter
