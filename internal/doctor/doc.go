// Package doctor judges a machine. Is it fit to hold sandboxes? Where does it do less well than it could? What should
// its operator do?
//
//	system := doctor.System{Host: doctor.LookAtHost(os.DirFS("/")), Launchers: launchers, Guarantees: guarantees, …}
//	for _, f := range doctor.Examine(system) {
//		fmt.Println(f.Verdict, f.Name, f.Seen, f.Means, f.Do)
//	}
//
// A System holds plain facts about the machine. Launchers collect the facts about themselves, package serve the facts
// about the configuration and about the reach of a child, and this package the facts about the machine itself. The
// verdicts come from a list of checks, which are small functions from facts to findings. So every verdict can be tested
// on a made-up machine.
//
// The package promises:
//   - It changes nothing. Findings name commands that do.
//   - A missing fact gives `unknown`, never `ok` and never `bad`.
//   - Everything that a sandbox cannot do without is in one list. Unfit, at every start of a launcher, and Start, at
//     every start of a watcher, go through those checks of the list that can refuse a start. Examine goes through all.
//   - It looks at the behaviour of this machine and knows no list of broken versions, because such a list is out of
//     date when it ships. The operator hears of broken versions from the distribution.
package doctor
