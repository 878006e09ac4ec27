// Package launcher says what the rest of the watcher has to know of a launcher: a Kind. It is how a launcher registers. A
// launcher's own folder describes it in one Kind, package sandbox/launchers has the list of all, and the configuration, the
// help, the doctor, the choice that "auto" makes, the watcher and its purge work from that list alone:
//
//	var Kind = &launcher.Kind{Name: "toy", Keys: []launcher.Key{{Name: "program", Form: launcher.Program}}, Open: open, …}
//
// What it promises: nothing outside of a launcher's folder and the list knows a launcher by its name. A launcher's keys in
// the configuration are data (Key), so that reading, writing, bounds and suggestions are the same for all of them.
package launcher
