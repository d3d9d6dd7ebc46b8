package redistest

import (
	"errors"
	"math/rand/v2"
	"net"
	"strconv"
)

const host = "127.0.0.1"

// Ports are taken from below the range that kernels hand out to outgoing
// connections (from 32768 on Linux, from 49152 on macOS). Otherwise, while a
// server is down, a client could be given its port as a local one: the restart
// would fail, and a client that dials the port could even reach itself.
const (
	firstPort = 20000
	endOfPort = 32000
)

var errPortTaken = errors.New("redistest: port is taken")

// freePort returns a port that was free a moment ago.
func freePort() (int, error) {
	var last error
	for range 100 {
		port := firstPort + rand.IntN(endOfPort-firstPort)
		l, err := net.Listen("tcp", address(port))
		if err != nil {
			last = err
			continue
		}
		return port, l.Close()
	}
	return 0, last
}

func address(port int) string {
	return net.JoinHostPort(host, strconv.Itoa(port))
}
