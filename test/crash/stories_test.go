package crash

import "torno/delegation"

// stories are told by the point at which the watcher dies.
var stories = map[string]*story{
	"admit.recorded": {during: submit(hello), done: says("hello\n")},
	"move.starting":  {during: submit(hello), done: says("hello\n")},
	"launch.bound": {
		before: killedAt("launch.attested", hello), during: func(*scene) {}, done: heldAndMadeAnew(2),
	},
	"launch.created":        {during: submit(hello), done: says("hello\n")},
	"launch.started":        {during: submit(hello), done: heldAndMadeAnew(1)},
	"launch.attested":       {during: submit(hello), done: heldAndMadeAnew(2)},
	"launch.released":       {during: submit(hello), done: heldAndMadeAnew(2)},
	"launch.word":           {during: submit(hello), done: neverHadItsWord},
	"run.opened":            {during: submit(hello), done: says("hello\n")},
	"move.running":          {during: submit(long), after: letOn, done: says("hello\nthere\n")}, // what ends at once may never be said to run
	"move.ended":            {during: submit(hello), done: says("hello\n")},
	"end.forgotten":         {during: submit(hello), done: says("hello\n")},
	"outbox.responded":      {during: submit(hello), done: says("hello\n")},
	"end.noted":             {during: submit(hello), done: says("hello\n")},
	"end.removed":           {during: submit(hello), done: says("hello\n")},
	"outbox.status":         {during: submit(hello), done: says("hello\n")},
	"outbox.cleared":        {during: submit(hello), done: says("hello\n")},
	"outbox.kept":           {during: func(*scene) {}, after: submit(hello), done: says("hello\n")},
	"outbox.looked-through": {before: loseJournal, during: func(*scene) {}, done: mayHaveRun},
	"outbox.accepted": {
		before: func(s *scene) { killedAt("launch.created", hello)(s); s.restore() },
		during: func(s *scene) { go s.accept() }, // the watcher dies of it
		done:   func(s *scene) { s.Must(s.accept()); says("hello\n")(s) },
	},
	"operator.noted":   cancelledByOperator,
	"unserved.noted":   cancelledAside,
	"unserved.removed": cancelledAside,
	"unserved.ended":   cancelledAside,
	"outbox.beat":      {during: func(*scene) {}, after: submit(hello), done: says("hello\n")},
	"segment.noted":    {during: submit(long), after: letOn, done: ifLost(neverHadItsWord, told("hello\nthere\n"))},
	"outbox.segment":   {during: submit(long), after: letOn, done: ifLost(neverHadItsWord, told("hello\nthere\n"))},
	"segment.kept":     {during: submit(long), after: letOn, done: ifLost(neverHadItsWord, told("hello\nthere\n"))},
	"segment.completed": {
		before: killedAt("segment.kept", long), during: func(*scene) {}, after: letOn, done: ifLost(neverHadItsWord, told("hello\nthere\n")),
	},
	"again.filed": {
		during: func(s *scene) { submit(long)(s); s.Says(s.ask, "hello"); writeAgain(s) },
		after:  letOn, done: says("hello\nthere\n"),
	},
	"answer.filed": {
		during: func(s *scene) { submit(hello)(s); s.Response(s.ask); writeAgain(s) }, done: says("hello\n"),
	},
	"answer.noted":    {during: nonsense, done: ends(delegation.StatusError, delegation.ReasonRefused)},
	"refuse.recorded": {during: nonsense, done: ends(delegation.StatusError, delegation.ReasonRefused)},
	"recover.gone": {
		before: func(s *scene) { killedAt("launch.created", hello)(s); takeAway(s) }, during: func(*scene) {}, done: nobodyIsAnswered,
	},
	"recover.dropped": {
		before: func(s *scene) { killedInTheMiddle(s); s.dismiss() }, during: func(*scene) {}, done: func(*scene) {},
	},
	"recover.site": {
		before: func(s *scene) { killedInTheMiddle(s); forgetSite(s) }, during: func(*scene) {}, after: letOn, done: says("hello\nthere\n"),
	},
	"recover.removed": {before: killedAt("end.removed", hello), during: func(*scene) {}, done: says("hello\n")},
	"recover.ended": {
		before: func(s *scene) { killedInTheMiddle(s); removeSandboxes(s) }, during: func(*scene) {},
		done: ends(delegation.StatusError, delegation.ReasonLost),
	},
	"refuse.ended": {
		before: func(s *scene) { killedAt("launch.created", hello)(s); s.forbid() }, during: func(*scene) {},
		done: ends(delegation.StatusError, delegation.ReasonRefused),
	},
	"input.sent":         {model: true, during: speak, done: heardOnce},
	"input.acknowledged": {model: true, during: speak, done: heardOnce},
	"resource.acquired":  {model: true, during: submitTo("talks", hello), done: talked},
	"resource.attested":  {model: true, during: submitTo("talks", hello), done: talked},
	"resource.ended":     {model: true, during: submitTo("talks", hello), done: talked},
	"resource.released":  {model: true, during: submitTo("talks", hello), done: talked},
	"session.kept":       {model: true, during: submitTo("minds", "think"), done: remembers},
	"approval.asked":     {asks: true, during: submitTo("asks", "may"), done: askedOnce("allow")},
	"approval.sent":      {asks: true, during: submitTo("asks", "may"), done: askedOnce("allow")},
	"approval.decided":   {asks: true, during: submitTo("asks", "cannot"), done: askedOnce("deny")},
	"move.waiting":       {asks: true, during: submitTo("asks", "cannot"), done: askedOnce("deny")},
	"approval.changed":   {asks: true, during: revoked, done: denied},
	"attempt.recorded": {
		during: func(s *scene) { submitTo("again", long)(s); s.Says(s.ask, "hello"); removeSandboxes(s) }, after: letOn, done: says("hello\nthere\n"),
	},
	"attempt.forgotten": {
		during: func(s *scene) { submitTo("again", long)(s); s.Says(s.ask, "hello"); removeSandboxes(s) }, after: letOn, done: says("hello\nthere\n"),
	},
	"recover.attempted": {
		before: func(s *scene) { killedInTheMiddleOf("again")(s); removeSandboxes(s) }, during: func(*scene) {}, after: letOn,
		done: says("hello\nthere\n"),
	},
	"run.ending": {
		during: func(s *scene) { submit(long)(s); s.Says(s.ask, "hello"); s.Touch("cancel_s1") },
		done:   ends(delegation.StatusCancelled, delegation.ReasonCancelled),
	},
	"run.forced": {
		during: unstoppable, after: mended, done: ends(delegation.StatusTimeout, delegation.ReasonDeadline),
	},
	"follow.forced": {
		during: unwatchable, after: mended, done: ends(delegation.StatusCancelled, delegation.ReasonCancelled),
	},
	"recover.answered":  {before: killedAt("end.noted", hello), during: func(*scene) {}, done: says("hello\n")},
	"prune.forgotten":   {before: tooMany, during: func(*scene) {}, pass: 2, done: pruned}, // between one piece and the next
	"prune.dropped":     {before: tooMany, during: func(*scene) {}, done: pruned},
	"prune.shrunk":      {before: tooMany, during: func(*scene) {}, done: pruned},
	"copy.noted":        copied,
	"copy.staged":       copied,
	"copy.known":        copied,
	"copy.seen":         copied,
	"copy.based":        copied,
	"copy.named":        copied,
	"collect.parted":    collected,
	"collect.renamed":   collected,
	"collect.removed":   collected,
	"collect.forgotten": collected,
}
