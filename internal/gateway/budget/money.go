package budget

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Money counts nano units of the currency that the operator's prices are in. It is never a float.
type Money int64

// Unit is one unit of the currency.
const Unit Money = 1_000_000_000

const decimals = 9

var errMoney = errors.New("money is written as 12, 0.25 or 0.000000001: digits, and at most nine after the point")

// ParseMoney reads "12", "0.25": no sign, no exponent, at most nine digits after the point.
func ParseMoney(text string) (Money, error) {
	whole, part, pointed := strings.Cut(text, ".")
	if !digits(whole) || pointed && !digits(part) || len(part) > decimals {
		return 0, fmt.Errorf("%.40q: %w", text, errMoney)
	}
	nano, err := strconv.ParseInt(strings.TrimLeft(whole, "0")+part+strings.Repeat("0", decimals-len(part)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%.40q is more money than there is", text)
	}
	return Money(nano), nil
}

func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// String returns the shortest text that ParseMoney reads as this amount.
func (m Money) String() string {
	if m < 0 {
		return "-" + strconv.FormatUint(uint64(-m), 10) + "n" // no amount of ours: the n shows that it is an error
	}
	text := fmt.Sprintf("%d.%09d", m/Unit, m%Unit)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// MarshalJSON writes a text, because many readers would turn a number into a float.
func (m Money) MarshalJSON() ([]byte, error) { return json.Marshal(m.String()) }

// UnmarshalJSON reads a text or a number, digit by digit.
func (m *Money) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if len(raw) > 0 && raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return err
		}
	}
	read, err := ParseMoney(text)
	if err != nil {
		return err
	}
	*m = read
	return nil
}

// Units returns the amount in units of the currency, for uses that need not be exact.
func (m Money) Units() float64 { return float64(m) / float64(Unit) }
