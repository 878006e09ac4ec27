// Package doctor judges a machine: is it fit to hold sandboxes, what does it do less well than it could, and what should
// its operator do about it.
//
//	system := doctor.System{Host: doctor.LookAtHost(os.DirFS("/")), Launchers: launchers, Guarantees: guarantees, …}
//	for _, f := range doctor.Examine(system) {
//		fmt.Println(f.Verdict, f.Name, f.Seen, f.Means, f.Do)
//	}
//
// What was seen is a System, plain facts that others have collected: launchers about themselves, package serve about
// the configuration and about what a child can reach, this package about the machine itself. What to think of it is a
// list of checks, small functions from facts to findings, so that every verdict can be tried on a made-up machine.
//
// What it promises:
//   - It changes nothing. Findings name the commands that do.
//   - A fact that is missing is `unknown`, never `ok` and never `bad`.
//   - There is one list of what a sandbox cannot do without. Start and Unfit go through the checks of it that refuse, and
//     are asked at every start of a watcher and of a launcher; Examine goes through all.
//   - It looks at what this machine does, and knows no list of broken versions: such a list is old when it ships. The
//     operator hears of them from the distribution.
package doctor
