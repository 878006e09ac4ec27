// Package soak lets clients and fate do what they like for a while, by the throw of dice, and then compares what clients
// saw with what ran, with the journal and with the engine's own record.
//
// Clients are hostile and honest: they ask, cancel, take away, supersede, write the same again, write nonsense, and
// remove responses at odd times. Fate kills watchers, also at crash points, ends and reloads them, stops, kills and hangs
// a private engine, cuts its power and removes containers by hand. Each child proves in a ledger in its workspace how
// often it ran, and until when.
//
//	SOAK=1h go test -timeout 2h ./test/soak           // how long
//	SOAK_SEED=1723 SOAK=1m go test ./test/soak        // the decisions of a round again
//
// A round's decisions follow from its seed and from nothing else. What they meet does not, so that a fault may take
// several rounds of a seed to show again.
//
// What must be true of a round stands in rules, and for each rule there is a lie that it finds.
package soak
