package seccomp

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Named is one value of an argument, with the kernel's name for it.
type Named struct {
	Name  string
	Value uint32
}

// Choice lists the values that an argument may have, in the order of the numbers.
type Choice []Named

// named reads a list of names and numbers. The lists are easier to read as text.
func named(text string) *Choice {
	words := strings.Fields(text)
	all := make(Choice, 0, len(words)/2)
	for i := 0; i < len(words); i += 2 {
		value, err := strconv.ParseUint(words[i+1], 0, 32)
		if err != nil {
			panic(fmt.Sprintf("the value of %s: %v", words[i], err))
		}
		all = append(all, Named{words[i], uint32(value)})
	}
	slices.SortStableFunc(all, func(a, b Named) int { return cmp.Compare(a.Value, b.Value) })
	return &all
}

// among makes the condition that an argument is one of the named values. The kernel looks only at the lower half of
// these arguments, so the condition does the same.
func among(index uint, text string) Arg {
	return Arg{Index: index, Mask: lower, OneOf: named(text)}
}

const lower = 0xFFFFFFFF

// The arguments that select code of the kernel. Every other value is refused. If a later kernel gives a number a
// meaning, that number is refused too, until it is named here.
var (
	// Left out are requests that type into a terminal (TIOCSTI), load a line discipline (TIOCSETD), or reach the
	// console (TIOCLINUX, TIOCCONS) or a serial port; requests of bridges and VLANs, which load modules; and requests
	// of namespaces, process descriptors and epoll, which no tool in a sandbox needs. Also left out are requests that
	// give a file something that outlives the run: a project, flags, a generation, a key, a subvolume.
	requests = among(1, `
		TCGETS 0x5401 TCSETS 0x5402 TCSETSW 0x5403 TCSETSF 0x5404 TCGETA 0x5405 TCSETA 0x5406 TCSETAW 0x5407 TCSETAF 0x5408
		TCSBRK 0x5409 TCXONC 0x540A TCFLSH 0x540B TIOCEXCL 0x540C TIOCNXCL 0x540D TIOCSCTTY 0x540E TIOCGPGRP 0x540F
		TIOCSPGRP 0x5410 TIOCOUTQ 0x5411 TIOCGWINSZ 0x5413 TIOCSWINSZ 0x5414 FIONREAD 0x541B TIOCPKT 0x5420 FIONBIO 0x5421
		TIOCNOTTY 0x5422 TIOCGETD 0x5424 TIOCGSID 0x5429 TCGETS2 0x802C542A TCSETS2 0x402C542B TCSETSW2 0x402C542C
		TCSETSF2 0x402C542D TIOCGPTN 0x80045430 TIOCSPTLCK 0x40045431 TIOCGPTPEER 0x5441
		FIONCLEX 0x5450 FIOCLEX 0x5451 FIOASYNC 0x5452 FIOQSIZE 0x5460
		FIOSETOWN 0x8901 SIOCSPGRP 0x8902 FIOGETOWN 0x8903 SIOCGPGRP 0x8904 SIOCATMARK 0x8905
		SIOCGIFNAME 0x8910 SIOCGIFCONF 0x8912 SIOCGIFFLAGS 0x8913 SIOCGIFADDR 0x8915 SIOCGIFBRDADDR 0x8919
		SIOCGIFNETMASK 0x891B SIOCGIFMTU 0x8921 SIOCGIFHWADDR 0x8927 SIOCGIFINDEX 0x8933
		FIGETBSZ 0x2 FIEMAP 0xC020660B FS_IOC_GETFLAGS 0x80086601 FS_IOC_FSGETXATTR 0x801C581F FS_IOC_GETVERSION 0x80087601
		FICLONE 0x40049409 FICLONERANGE 0x4020940D FIDEDUPERANGE 0xC0189436`)

	// Left out are leases and directory notices: a child could use them to make other processes wait when they open its
	// files. Also left out is choosing a signal (F_SETSIG), which goes to any process of the same user.
	commands = among(1, `
		F_DUPFD 0 F_GETFD 1 F_SETFD 2 F_GETFL 3 F_SETFL 4 F_GETLK 5 F_SETLK 6 F_SETLKW 7 F_SETOWN 8 F_GETOWN 9
		F_OFD_GETLK 36 F_OFD_SETLK 37 F_OFD_SETLKW 38 F_DUPFD_QUERY 1027
		F_DUPFD_CLOEXEC 1030 F_SETPIPE_SZ 1031 F_GETPIPE_SZ 1032 F_ADD_SEALS 1033 F_GET_SEALS 1034`)

	// Left out are describing one's own memory to others (PR_SET_MM), sharing memory with strangers
	// (PR_SET_MEMORY_MERGE), sharing a core with a process (PR_SCHED_CORE), and options that only other architectures
	// have.
	processOptions = among(0, `
		PR_SET_PDEATHSIG 1 PR_GET_PDEATHSIG 2 PR_GET_DUMPABLE 3 PR_SET_DUMPABLE 4 PR_GET_KEEPCAPS 7 PR_SET_KEEPCAPS 8
		PR_SET_NAME 15 PR_GET_NAME 16 PR_GET_SECCOMP 21 PR_SET_SECCOMP 22 PR_CAPBSET_READ 23 PR_CAPBSET_DROP 24 PR_GET_TSC 25
		PR_SET_TSC 26 PR_GET_SECUREBITS 27 PR_SET_TIMERSLACK 29 PR_GET_TIMERSLACK 30 PR_SET_CHILD_SUBREAPER 36
		PR_GET_CHILD_SUBREAPER 37 PR_SET_NO_NEW_PRIVS 38 PR_GET_NO_NEW_PRIVS 39 PR_GET_TID_ADDRESS 40 PR_SET_THP_DISABLE 41
		PR_GET_THP_DISABLE 42 PR_CAP_AMBIENT 47 PR_SVE_SET_VL 50 PR_SVE_GET_VL 51 PR_GET_SPECULATION_CTRL 52
		PR_SET_SPECULATION_CTRL 53 PR_PAC_RESET_KEYS 54 PR_SET_TAGGED_ADDR_CTRL 55 PR_GET_TAGGED_ADDR_CTRL 56 PR_SET_MDWE 65
		PR_GET_MDWE 66 PR_SET_VMA 0x53564D41`)

	// Left out are merging pages with those of others, which tells their content; pushing a file's pages out of memory
	// for everybody; and breaking memory on purpose.
	advices = among(2, `
		MADV_NORMAL 0 MADV_RANDOM 1 MADV_SEQUENTIAL 2 MADV_WILLNEED 3 MADV_DONTNEED 4 MADV_FREE 8 MADV_REMOVE 9
		MADV_DONTFORK 10 MADV_DOFORK 11 MADV_HUGEPAGE 14 MADV_NOHUGEPAGE 15 MADV_DONTDUMP 16 MADV_DODUMP 17 MADV_WIPEONFORK 18
		MADV_KEEPONFORK 19 MADV_COLD 20 MADV_POPULATE_READ 22 MADV_POPULATE_WRITE 23 MADV_DONTNEED_LOCKED 24 MADV_COLLAPSE 25
		MADV_GUARD_INSTALL 102 MADV_GUARD_REMOVE 103`)

	// Left out are FUTEX_WAIT_REQUEUE_PI and FUTEX_CMP_REQUEUE_PI, which C libraries do not use any more. Each of the
	// others may come with FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME.
	futexes = Arg{Index: 1, Mask: lower &^ 0x180, OneOf: named(`
		FUTEX_WAIT 0 FUTEX_WAKE 1 FUTEX_FD 2 FUTEX_REQUEUE 3 FUTEX_CMP_REQUEUE 4 FUTEX_WAKE_OP 5 FUTEX_LOCK_PI 6
		FUTEX_UNLOCK_PI 7 FUTEX_TRYLOCK_PI 8 FUTEX_WAIT_BITSET 9 FUTEX_WAKE_BITSET 10 FUTEX_LOCK_PI2 13`)}

	// Left out are faults on cpuid, shadow stacks, and mapping the kernel's own pages anew.
	threadOptions = among(0, `
		ARCH_SET_GS 0x1001 ARCH_SET_FS 0x1002 ARCH_GET_FS 0x1003 ARCH_GET_GS 0x1004
		ARCH_GET_XCOMP_SUPP 0x1021 ARCH_GET_XCOMP_PERM 0x1022 ARCH_REQ_XCOMP_PERM 0x1023`)

	// The policies that need no privilege. The other policies compete with the host's own processes.
	policies = Arg{Index: 1, Mask: lower &^ 0x40000000, OneOf: named("SCHED_NORMAL 0 SCHED_BATCH 3 SCHED_IDLE 5")}

	// Left out are raw sockets (netlink's SOCK_RAW is none), SOCK_PACKET, and the types whose protocols are modules
	// (SCTP, DCCP).
	unixTypes  = socketType("SOCK_STREAM 1 SOCK_DGRAM 2 SOCK_SEQPACKET 5")
	routeTypes = socketType("SOCK_DGRAM 2 SOCK_RAW 3")
	stream     = Arg{Index: 1, Mask: typeBits, Value: 1}
	datagram   = Arg{Index: 1, Mask: typeBits, Value: 2}
)

// typeBits masks the bits of a socket's type, without SOCK_CLOEXEC and SOCK_NONBLOCK.
const typeBits = lower &^ (0o2000000 | 0o4000)

// socketType makes the condition that a new socket has one of the named types.
func socketType(text string) Arg { return Arg{Index: 1, Mask: typeBits, OneOf: named(text)} }

// socketOptions lists the allowed options of sockets, by level. Left out are filters (SO_ATTACH_FILTER and its like),
// because they are programs in the kernel; options that lay one protocol over another (TCP_ULP, UDP_ENCAP); the choice
// of a congestion control; tables of firewalls; headers that the program writes itself; IPV6_ADDRFORM, which changes a
// socket's family; and all options for zero copies.
var socketOptions = []struct {
	name  string
	level uint64
	names Arg
}{
	{"SOL_SOCKET", 1, among(2, `
		SO_DEBUG 1 SO_REUSEADDR 2 SO_TYPE 3 SO_ERROR 4 SO_DONTROUTE 5 SO_BROADCAST 6 SO_SNDBUF 7 SO_RCVBUF 8 SO_KEEPALIVE 9
		SO_OOBINLINE 10 SO_NO_CHECK 11 SO_PRIORITY 12 SO_LINGER 13 SO_BSDCOMPAT 14 SO_REUSEPORT 15 SO_PASSCRED 16
		SO_PEERCRED 17 SO_RCVLOWAT 18 SO_SNDLOWAT 19 SO_RCVTIMEO 20 SO_SNDTIMEO 21 SO_PEERNAME 28 SO_TIMESTAMP 29
		SO_ACCEPTCONN 30 SO_PEERSEC 31 SO_TIMESTAMPNS 35 SO_PROTOCOL 38 SO_DOMAIN 39 SO_PEERGROUPS 59 SO_RCVTIMEO_NEW 66
		SO_SNDTIMEO_NEW 67 SO_PASSPIDFD 76 SO_PEERPIDFD 77`)},
	{"IPPROTO_TCP", 6, among(2, `
		TCP_NODELAY 1 TCP_MAXSEG 2 TCP_CORK 3 TCP_KEEPIDLE 4 TCP_KEEPINTVL 5 TCP_KEEPCNT 6 TCP_SYNCNT 7 TCP_LINGER2 8
		TCP_DEFER_ACCEPT 9 TCP_WINDOW_CLAMP 10 TCP_INFO 11 TCP_QUICKACK 12 TCP_USER_TIMEOUT 18 TCP_FASTOPEN 23
		TCP_NOTSENT_LOWAT 25 TCP_FASTOPEN_CONNECT 30`)},
	{"IPPROTO_IP", 0, among(2, `
		IP_TOS 1 IP_TTL 2 IP_PKTINFO 8 IP_MTU_DISCOVER 10 IP_RECVERR 11 IP_RECVTTL 12 IP_RECVTOS 13 IP_MTU 14 IP_FREEBIND 15
		IP_BIND_ADDRESS_NO_PORT 24 IP_MULTICAST_IF 32 IP_MULTICAST_TTL 33 IP_MULTICAST_LOOP 34 IP_ADD_MEMBERSHIP 35
		IP_DROP_MEMBERSHIP 36`)},
	{"IPPROTO_IPV6", 41, among(2, `
		IPV6_UNICAST_HOPS 16 IPV6_MULTICAST_IF 17 IPV6_MULTICAST_HOPS 18 IPV6_MULTICAST_LOOP 19 IPV6_JOIN_GROUP 20
		IPV6_LEAVE_GROUP 21 IPV6_MTU_DISCOVER 23 IPV6_MTU 24 IPV6_RECVERR 25 IPV6_V6ONLY 26 IPV6_RECVPKTINFO 49
		IPV6_RECVTCLASS 66 IPV6_TCLASS 67`)},
	{"SOL_NETLINK", 270, among(2, "NETLINK_EXT_ACK 11 NETLINK_GET_STRICT_CHK 12")},
}

// optionRules returns one rule for each level, which lets that level's options in.
func optionRules() (all []Rule) {
	for _, o := range socketOptions {
		all = append(all, Rule{
			Reason: "setting and reading options of sockets, of level " + o.name, Names: calls("setsockopt getsockopt"),
			Args: []Arg{{Index: 1, Mask: lower, Value: o.level}, o.names},
		})
	}
	return all
}
