package inside

import (
	"context"
	"errors"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Addresses that a weak container has for the prober to reach: two of the internet, and those at which clouds tell
// machines their secrets.
const (
	internet4, internet6 = "1.1.1.1", "2606:4700:4700::1111"
	metadata4, metadata6 = "169.254.169.254", "fd00:ec2::254"
)

// networkProbes look for a way out.
func networkProbes() []probe {
	return []probe{
		{"C1", "an interface beside the loopback", foreignInterface},
		{"C1", "a route that leads out", foreignRoute},
		{"C1", "an address of the internet by TCP", dials("tcp", internet4, "53")},
		{"C1", "an address of the internet by UDP", dials("udp", internet4, "53")},
		{"C1", "an address of the internet by IPv6", dials("tcp", internet6, "53")},
		{"C1", "the machine's own loopback", func(g *Ground) error { return dial("tcp", g.TCP) }},
		{"C1", "an address of one's own choice", func(*Ground) error { return addAddress("203.0.113.7") }},
		{"C3", "an abstract socket of the machine's", func(g *Ground) error { return dial("unix", g.Abstract) }},
		{"C16", "the metadata address", dials("tcp", metadata4, "80")},
		{"C16", "the metadata address by IPv6", dials("tcp", metadata6, "80")},
		{"C16", "the metadata address by UDP", dials("udp", metadata4, "80")},
		{"C20", "a name server", nameServer},
	}
}

func foreignInterface(*Ground) error {
	up, err := interfacesUp()
	for _, name := range up {
		if name != "lo" {
			return nil
		}
	}
	return errors.Join(err, errAbsent)
}

func foreignRoute(*Ground) error {
	if len(routes("/proc/net/route", 0))+len(routes("/proc/net/ipv6_route", 9)) == 0 {
		return errAbsent
	}
	return nil
}

func nameServer(*Ground) error {
	if len(nameservers()) == 0 {
		return errAbsent
	}
	return nil
}

// patience is how long a packet that goes nowhere is waited for. In a sandbox none leaves.
const patience = time.Second

func dials(network, host, port string) func(*Ground) error {
	return func(*Ground) error { return dial(network, net.JoinHostPort(host, port)) }
}

func dial(network, address string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// families are the address families that have no place in a sandbox.
var families = map[string]int{
	"alg": unix.AF_ALG, "bluetooth": unix.AF_BLUETOOTH, "can": unix.AF_CAN, "key": unix.AF_KEY, "packet": unix.AF_PACKET,
	"rds": unix.AF_RDS, "tipc": unix.AF_TIPC, "vsock": unix.AF_VSOCK, "xdp": unix.AF_XDP, "x25": unix.AF_X25,
	"nfc": unix.AF_NFC, "smc": unix.AF_SMC, "qipcrtr": unix.AF_QIPCRTR, "kcm": unix.AF_KCM, "pppox": unix.AF_PPPOX,
	"appletalk": unix.AF_APPLETALK, "ax25": unix.AF_AX25, "llc": unix.AF_LLC, "phonet": unix.AF_PHONET, "ieee802154": unix.AF_IEEE802154,
}

func familyProbes() []probe {
	all := []probe{
		{"C2", "netlink audit", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT)},
		{"C2", "netlink uevent", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT)},
		{"C2", "netlink generic", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC)},
		{"C2", "netlink netfilter", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER)},
		{"C2", "netlink sock_diag", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_SOCK_DIAG)},
		{"C2", "netlink xfrm", socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_XFRM)},
		{"C2", "raw internet", socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)},
		{"C2", "raw internet 6", socket(unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6)},
		{"C2", "ping", socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_ICMP)},
		{"C2", "family with high bits", highFamily},
		{"C2", "multipath tcp", socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP)},
		{"C2", "sctp", socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP)},
		{"C2", "udp lite", socket(unix.AF_INET6, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE)},
		{"C2", "socketpair of internet", call(unix.SYS_SOCKETPAIR, unix.AF_INET, unix.SOCK_STREAM, 0, 1)},
	}
	for name, family := range families {
		all = append(all, probe{"C2", "family " + name, socket(family, unix.SOCK_RAW, 0)})
	}
	return all
}

// socket asks for a socket. The error that a family takes another type comes only after the call was let in.
func socket(family, kind, protocol int) func(*Ground) error {
	return func(*Ground) error {
		err := closed(unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol))
		var number syscall.Errno
		if errors.As(err, &number) && (number == unix.ESOCKTNOSUPPORT || number == unix.EINVAL) {
			return reached{number}
		}
		return err
	}
}

// highFamily asks for a unix socket with bits that the kernel throws away, as an attacker would to get past a filter.
func highFamily(*Ground) error {
	high := uintptr(unix.AF_UNIX) | 1<<16<<16
	fd, _, errno := syscall.RawSyscall(unix.SYS_SOCKET, high, unix.SOCK_STREAM, 0)
	if errno != 0 {
		return errno
	}
	return unix.Close(int(fd))
}
