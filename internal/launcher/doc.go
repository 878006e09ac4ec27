// Package launcher defines Kind, the description of a launcher for the rest of the watcher. A launcher registers by its
// Kind. Each launcher's own folder describes it in one Kind, and package sandbox/launchers has the list of all Kinds.
// The configuration, the help, the doctor, the choice of "auto", the watcher and its purge use that list alone:
//
//	var Kind = &launcher.Kind{Name: "toy", Keys: []launcher.Key{{Name: "program", Form: launcher.Program}}, Open: open, …}
//
// The package promises that no code outside of a launcher's folder and the list knows a launcher by its name. A
// launcher's keys in the configuration are data (Key), so reading, writing, bounds and suggestions are the same for all
// launchers.
package launcher
