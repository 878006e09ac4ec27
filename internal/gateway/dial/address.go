package dial

import (
	"fmt"
	"net/netip"
)

// AddressError says why an address is not dialled.
type AddressError struct {
	Addr netip.Addr
	What string
}

func (e *AddressError) Error() string {
	return fmt.Sprintf("%s is %s, and is not dialled", e.Addr, e.What)
}

// ranges are addresses that share a description.
type ranges struct {
	what string
	of   []netip.Prefix
}

// never are ranges that no rule opens. Metadata services come first, because some of them are in ranges that a rule may
// open.
var never = []ranges{
	{"the address of a metadata service", prefixes("169.254.169.254/32", "169.254.170.2/32", "100.100.100.200/32", "168.63.129.16/32",
		"192.0.0.192/32", "fd00:ec2::/32", "fd20:ce::/32")},
	{"link-local", prefixes("169.254.0.0/16", "fe80::/10", "fec0::/10")},
	{"multicast", prefixes("224.0.0.0/4", "ff00::/8")},
	{"reserved", prefixes("0.0.0.0/8", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"240.0.0.0/4", "::/128", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16")},
}

// private are ranges that a rule may open.
var private = ranges{"private", prefixes("10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "::1/128", "fc00::/7")}

var (
	global = netip.MustParsePrefix("2000::/3") // the part of IPv6 that is in use
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
	sixTo4 = netip.MustParsePrefix("2002::/16")
)

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// judge returns an error unless the address may be dialled.
func judge(addr netip.Addr, privateToo bool) error {
	if addr.Zone() != "" {
		return &AddressError{addr, "an address of one link"}
	}
	real := inner(addr)
	for _, r := range never {
		if r.has(real) {
			return &AddressError{addr, r.what}
		}
	}
	if private.has(real) {
		if privateToo {
			return nil
		}
		return &AddressError{addr, private.what}
	}
	if real.Is6() && !global.Contains(real) {
		return &AddressError{addr, "in no range that is given out"}
	}
	return nil
}

// inner returns the IPv4 address that is hidden in an IPv6 one: mapped, NAT64, 6to4 or ISATAP. It returns other
// addresses unchanged.
func inner(addr netip.Addr) netip.Addr {
	addr = addr.Unmap()
	if addr.Is4() {
		return addr
	}
	b := addr.As16()
	switch {
	case nat64.Contains(addr), [4]byte(b[8:12]) == [4]byte{0, 0, 0x5e, 0xfe}, [4]byte(b[8:12]) == [4]byte{2, 0, 0x5e, 0xfe}:
		return netip.AddrFrom4([4]byte(b[12:]))
	case sixTo4.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6]))
	}
	return addr
}

func (r ranges) has(addr netip.Addr) bool {
	for _, p := range r.of {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}
