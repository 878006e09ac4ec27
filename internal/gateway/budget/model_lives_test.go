package budget

import "testing"

// TestEveryPrefix kills the second of two processes, or the first, after each byte that it writes and before each other thing
// that it does to its disk, and cuts the power there.
func TestEveryPrefix(t *testing.T) {
	for seed := uint64(2); seed < 4; seed++ { // small numbers, and the highest
		died := true
		for left := 0; died; left++ {
			w := newWorld(t, seed)
			w.tape.left = left
			died = !w.start()
			for i := 0; i < 25 && !died; i++ {
				died = !w.step() || i == 12 && !w.again()
			}
			if !died {
				w.check(true)
				w.ledger.Close()
				died = w.tape.dead
			}
			past, now, perhaps, disk, boots, day := w.past, w.now, w.perhaps, w.tape, w.boots, w.day
			for try := range 4 {
				w.past, w.now, w.perhaps, w.boots, w.day = past, now, perhaps, boots, day
				if try == 0 {
					w.next(disk.afterKill(), true)
				} else {
					w.next(disk.afterPowerCut(w.random), false)
				}
			}
		}
	}
}

// TestLongLives lives through many processes, kills, power cuts and ledgers that are written anew.
func TestLongLives(t *testing.T) {
	for seed := range uint64(60) {
		w := newWorld(t, seed)
		w.start()
		for range 40 {
			if w.random.IntN(2) == 0 {
				w.tape.left = w.random.IntN(6000)
			}
			for range w.random.IntN(60) {
				if !w.step() {
					break
				}
				w.check(true)
			}
			switch w.random.IntN(4) {
			case 0:
				w.next(w.tape.afterPowerCut(w.random), false)
			case 1:
				if w.ledger.Close() == nil {
					w.next(w.tape.afterPowerCut(w.random), true) // nothing of a ledger that was closed is lost
					break
				}
				fallthrough
			default:
				w.next(w.tape.afterKill(), true)
			}
		}
	}
}
