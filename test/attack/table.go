package attack

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// Print writes one line for each row and place where it was tried, and a sum. It is false when anything got through
// or an oracle is dead. Rows without a score are named below the table.
func Print(w io.Writer, page Page, trials []Trial) (well bool) {
	slices.SortFunc(trials, func(a, b Trial) int {
		return cmp.Or(cmp.Compare(page.position(a.Row), page.position(b.Row)), cmp.Compare(a.Where, b.Where))
	})
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ROW\tATTACK\tWHERE\tTRIED\tHELD OFF\tORACLE\tNOTE")
	tried, held, dead := 0, 0, 0
	for _, t := range trials {
		oracle := "alive"
		if !t.Oracle {
			oracle, dead = "DEAD", dead+1
		}
		tried, held = tried+t.Tried, held+t.Held
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", t.Row, clip(page.Row(t.Row), 48), t.Where, t.Tried, t.Held, oracle, t.Note)
	}
	fmt.Fprintf(table, "\t%d rows\t\t%d\t%d\t%d dead\t\n", len(page.Rows), tried, held, dead)
	table.Flush()
	silent := page.silent(trials)
	if len(silent) > 0 {
		fmt.Fprintf(w, "\nheld by tests that only pass or fail, without a score of their own: %v\n", silent)
	}
	return tried == held && dead == 0
}

func (p Page) position(id string) int {
	return slices.IndexFunc(p.Rows, func(r Row) bool { return r.ID == id })
}

// silent are the rows that no trial was recorded for.
func (p Page) silent(trials []Trial) (ids []string) {
	for _, row := range p.Rows {
		if row.Verdict != Open && !slices.ContainsFunc(trials, func(t Trial) bool { return t.Row == row.ID }) {
			ids = append(ids, row.ID)
		}
	}
	return ids
}

func clip(row *Row, length int) string {
	if row == nil {
		return ""
	}
	text := []rune(row.Attack)
	if len(text) <= length {
		return row.Attack
	}
	return string(text[:length-1]) + "…"
}
