// Package soak lets clients and fate do what they like for a while, by the throw of dice, and then compares what clients
// saw with what ran, with the journal and with the record of what makes sandboxes: the engine's own, or what gVisor's keepers
// have left. Each of the two has its half of the time.
//
// Clients are hostile and honest: they ask, cancel, take away, supersede, write the same again, write nonsense, give files
// times that lie ahead or far back, and remove responses at odd times. Fate kills watchers, also at crash points, ends and
// reloads them, has them stand still, and has the watcher of another installation come to their outboxes and go. It moves
// an outbox away, as where a file system is not mounted, and another directory with a request into its place, before it
// moves the outbox back. Clients that hold the outbox go on in it; a request of clients that open its path is lost with the
// wrong directory, and counts as never asked. No client is in the middle of a write while an outbox is moved. It stops,
// kills and hangs a private engine, cuts its power and removes containers by hand. It has another engine answer under that
// engine's name, before the watcher starts or under a live one, while the engine itself lives on or is dead: what ran there is
// stranded until the name leads back, and what begins meanwhile runs on the other engine. A run that was still there when the
// name leads back would be stranded in its turn, so clients ask for nothing while the other engine comes to rest. Where there
// is no engine, fate kills keepers and sentries, one or both of a sandbox, alone or with the watcher, or all that there are.
// Each child proves in a ledger in its workspace how often it ran, and until when.
//
//	SOAK=1h go test -timeout 2h ./test/soak           // how long
//	SOAK_SANDBOX=gvisor go test ./test/soak           // for one launcher
//	SOAK_SANDBOX=docker SOAK_SEED=1723 SOAK=1m go test ./test/soak // the decisions of a round again
//
// A seed is not a replay. A round's decisions follow from it and from nothing else: which client asks for what and when, what fate
// does, and at which point a watcher dies. What they meet is the machine's: how long an engine takes to come back, and so
// how many decisions fit into a round, and what was under way in that moment. Seed 101, played twice, came to 116 requests
// and 71 children, and to 122 and 91. So a fault may take several rounds of its seed to show again, and what a round says
// of it, the story of the request as each side saw it and all that the watchers logged, has to be enough without that.
//
// What must be true of a round stands in rules, and for each rule there is a lie that it finds.
package soak
