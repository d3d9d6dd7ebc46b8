// Package faultproxy is a TCP proxy on loopback that makes the network between
// a client and one server fail on demand: late, silent, cut, or losing exactly
// the reply to one request.
//
// Every lever may be pulled at any time, from any goroutine, and affects the
// connections there are as well as new ones.
//
// # What the proxy knows
//
// It sees bytes, not a protocol. A "request" is what one Read from the client
// yields, its "reply" is what the upstream sends next. That holds for a client
// that sends small requests and waits for each reply. Where requests are
// pipelined, one Read may hold several requests, or the next bytes may be the
// reply to an earlier one.
//
// # Ends of connections
//
// The end of a connection travels like data: late under Delay, after what was
// sent before it, and not at all while its direction is held or swallowed.
package faultproxy
