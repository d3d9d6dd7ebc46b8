package redisstore

import (
	"crypto/sha1"
	_ "embed" // the scripts
	"encoding/hex"
)

// script is a Lua script and the name under which a server caches it, which is
// here as an argument of a command, too.
type script struct {
	source, sha string
	arg         any
}

func newScript(source string) *script {
	sum := sha1.Sum([]byte(source))
	sha := hex.EncodeToString(sum[:])
	return &script{source: source, sha: sha, arg: sha}
}

var (
	//go:embed scripts/acquire.lua
	acquireSource string
	//go:embed scripts/extend.lua
	extendSource string
	//go:embed scripts/touch.lua
	touchSource string
	//go:embed scripts/release.lua
	releaseSource string
	//go:embed scripts/reserve.lua
	reserveSource string
	//go:embed scripts/giveback.lua
	giveBackSource string
	//go:embed scripts/inspect.lua
	inspectSource string
	//go:embed scripts/mark.lua
	markSource string

	acquireScript  = newScript(acquireSource)
	extendScript   = newScript(extendSource)
	touchScript    = newScript(touchSource)
	releaseScript  = newScript(releaseSource)
	reserveScript  = newScript(reserveSource)
	giveBackScript = newScript(giveBackSource)
	inspectScript  = newScript(inspectSource)
	markScript     = newScript(markSource)
)
