// Package sandboxtest defines the contract of a sandbox.Launcher as a suite of tests, and has a Fake that passes it.
//
// # A new launcher
//
// A launcher keeps the contract when it passes the Suite. Its own tests need a dozen lines:
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
// the launcher that most cases share, and with other names for cases in which a launcher crashes. After the crash it
// calls New again with the same name. It calls New once more for a stranger on the same site.
//
// The suite's agents run words of one vocabulary ("echo", "ignore-term", "orphan"). Each word exists twice: as a script
// for /bin/sh, which a Real launcher runs, and as a function, which the fake runs. So one case holds for both. With
// Real the suite also tries, from inside the sandbox, the guarantees that the launcher's Check calls enforced, and
// whether git, python, node and npm work there. It runs the prober there and compares the outcome with the launcher's
// column of test/prober/verdicts.md. It also has Controls run the prober where the walls are down: a probe that fails
// there too is dead. If a check needs the launcher's own tools, it belongs in the launcher's tests.
//
// Cases run at once, as many as `go test -parallel` says. Each has its own keys, workspace and deadline. No case
// sleeps: if time must go by, a case waits for an agent that prints a line every tenth of a second.
//
// # The fake
//
// NewWorld makes a site in memory, and World.Launcher makes a fake of an installation on that site. A test of a watcher
// chooses by argv[0] what its children do: a word of the vocabulary, or a program from World.Register. A command line
// of the form `sh -c "word arg"` works as well. The test can fail any step (Fail, FailAfter), stop at it (Before,
// After), and cut a watcher off (Fake.Crash). Afterwards it can ask what happened (Released, MostAtOnce,
// SharedWorkspaces). Nothing in the fake sleeps or polls, so it works in a bubble of testing/synctest, where a child
// that runs for an hour ends at once:
//
//	world := sandboxtest.NewWorld(t)
//	world.Fail(sandboxtest.OpStart, 1, errors.New("no space left on device"))
//	w := watcher.New(watcher.Config{Launchers: map[string]sandbox.Launcher{"fake": world.Launcher("here")}, …})
//
// The fake keeps the whole contract but walls nothing off: its programs are functions of the test.
package sandboxtest
