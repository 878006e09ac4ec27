package dial

import (
	"errors"
	"net/netip"
	"testing"
)

// TestAddresses: each way of writing an address that leads somewhere else than out.
func TestAddresses(t *testing.T) {
	const (
		always  = iota // dialled by every rule
		private        // by a rule that says so
		never
	)
	for text, want := range map[string]int{
		"1.1.1.1": always, "2606:4700::1111": always, "2001:4860:4860::8888": always, "64:ff9b::101:101": always, "::ffff:1.1.1.1": always,
		"10.1.2.3": private, "172.16.0.1": private, "172.31.255.255": private, "192.168.1.1": private, "127.0.0.1": private, "127.1.2.3": private,
		"100.64.0.1": private, "::1": private, "fd12::1": private, "fc00::1": private, "::ffff:127.0.0.1": private, "::ffff:10.0.0.1": private,
		"64:ff9b::10.0.0.1": private, "64:ff9b::127.0.0.1": private, "2002:7f00:1::": private, "2002:a00:1::1": private,
		"2606:4700::5efe:10.0.0.1": private, "2606:4700::200:5efe:127.0.0.1": private,
		"172.15.0.1": always, "172.32.0.1": always, "100.128.0.1": always, "2002:101:101::1": always,
		"169.254.169.254": never, "::ffff:169.254.169.254": never, "64:ff9b::169.254.169.254": never, "2002:a9fe:a9fe::": never,
		"169.254.1.1": never, "169.254.170.2": never, "100.100.100.200": never, "168.63.129.16": never, "192.0.0.192": never,
		"fd00:ec2::254": never, "fd20:ce::254": never, "fe80::1": never, "fe80::1%eth0": never, "fec0::1": never, "1.1.1.1%x": never,
		"224.0.0.1": never, "239.1.1.1": never, "ff02::1": never, "255.255.255.255": never, "240.0.0.1": never, "0.0.0.0": never, "0.1.2.3": never,
		"::": never, "::127.0.0.1": never, "::10.0.0.1": never, "2001::1": never, "2001:db8::1": never, "100::1": never, "64:ff9b:1::1": never,
		"64:ff9b::224.0.0.1": never, "4000::1": never, "192.0.2.1": never, "198.18.0.1": never, "198.51.100.1": never, "203.0.113.9": never,
	} {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			continue // a zone behind an IPv4 address: the name of no address
		}
		for _, rule := range []struct {
			private bool
			most    int
		}{{false, always}, {true, private}} {
			err := judge(addr, rule.private)
			if dialled := err == nil; dialled != (want <= rule.most) {
				t.Errorf("%s is dialled by a rule with private %v: %v", text, rule.private, dialled)
			}
			if why := (*AddressError)(nil); err != nil && !errors.As(err, &why) {
				t.Errorf("%s: %v", text, err)
			}
		}
	}
}

// FuzzAddresses: whatever an address looks like, an IPv4 address behind it is judged as itself.
func FuzzAddresses(f *testing.F) {
	f.Add(uint32(0x7f000001))
	f.Add(uint32(0xa9fea9fe))
	f.Fuzz(func(t *testing.T, n uint32) {
		v4 := [4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
		mapped := netip.AddrFrom4(v4)
		var through, relayed [16]byte
		copy(through[:], []byte{0, 0x64, 0xff, 0x9b})
		copy(through[12:], v4[:])
		relayed[0], relayed[1] = 0x20, 0x02
		copy(relayed[2:], v4[:])
		for _, private := range []bool{false, true} {
			want := judge(mapped, private) == nil
			for _, addr := range []netip.Addr{netip.AddrFrom16(mapped.As16()), netip.AddrFrom16(through), netip.AddrFrom16(relayed)} {
				if judge(addr, private) == nil != want {
					t.Errorf("%s is dialled: %v, and %s is not judged so", mapped, want, addr)
				}
			}
		}
	})
}
