// Package sandboxtest says what a sandbox.Launcher is, as a suite of tests, and has a Fake that passes it.
//
// # A new launcher
//
// A launcher is one when it passes the Suite. Its own tests need a dozen lines:
//
//	func TestContract(t *testing.T) {
//		sandboxtest.Suite(t, sandboxtest.Harness{
//			Name:     "mine by handle",
//			Real:     true,
//			Controls: weakPlaces,
//			New: func(t *testing.T, base, installation string) sandbox.Launcher {
//				l, err := mylauncher.New(t.Context(), mylauncher.Options{Base: base, Installation: installation})
//				if err != nil {
//					t.Fatal(err)
//				}
//				t.Cleanup(func() { l.Close() })
//				return l
//			},
//			Crash: func(l sandbox.Launcher) { l.(*mylauncher.Launcher).Close() },
//		})
//	}
//
// The suite makes its own workspaces, beneath the directory that New gets as base, and compiles its own specs. As root
// it gives workspaces to an ordinary user, so that a launcher must show whose files a child writes. It calls New for
// the launcher that most cases share, with other names for cases in which a launcher crashes, again with the same name
// after the crash, and once more for a stranger on the same site.
//
// The agents of the suite are words of one vocabulary ("echo", "ignore-term", "orphan"), each said twice: as a script
// for /bin/sh, which a Real launcher runs, and as a function, which the fake runs. So one case holds for both. With
// Real the suite goes on to try, from inside the sandbox, what the launcher's Check says that it enforces, and whether
// git, python, node and npm work there. It runs the prober there, holds what came of it against the launcher's column of
// test/prober/verdicts.md, and has Controls run it where the walls are down: a probe that fails there too is dead. What it
// takes the launcher's own tools to see belongs into the launcher's tests.
//
// Cases run at once, as many as `go test -parallel` says; each has keys, a workspace and a deadline of its own. None
// sleeps: where time must go by, it is that of an agent which prints a line every tenth of a second.
//
// # The fake
//
// NewWorld is a site in memory, and World.Launcher a fake of an installation on it. A test of a watcher chooses
// what its children do by argv[0], from the vocabulary or by World.Register, and a command line of the form
// `sh -c "word arg"` works as well. It can fail any step (Fail, FailAfter), stop at it (Before, After), cut a watcher
// off (Fake.Crash), and afterwards ask what happened (Started, MostAtOnce, SharedWorkspaces). Nothing in it sleeps or
// polls, so that it works in a bubble of testing/synctest, where a child of an hour ends at once:
//
//	world := sandboxtest.NewWorld(t)
//	world.Fail(sandboxtest.OpStart, 1, errors.New("no space left on device"))
//	w := watcher.New(watcher.Config{Launchers: map[string]sandbox.Launcher{"fake": world.Launcher("here")}, …})
//
// The fake keeps the whole contract but walls nothing off: a program of it is a function of the test.
package sandboxtest
