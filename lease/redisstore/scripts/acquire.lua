-- Takes a lock, or describes who has it.
-- KEYS[1] the lock, KEYS[2] where its fencing tokens are stored (same slot)
-- ARGV[1] the value of this acquisition, ARGV[2] its time to live in ms
-- ARGV[3] the time to live of the token in ms, 0 for no fencing
-- Replies with an integer when the lock is ours: the token, 0 without fencing,
-- and negative when it could not be stored since something foreign is there.
-- Replies with {holder id, remaining ms or -1} when another value stands there.
-- Fails with WRONGTYPE when the lock key is no string.

if ARGV[3] == '0' and redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return 0 -- free, and nothing else to do
end

-- One MGET is cheaper than two GETs. It answers nil for other types; the SETs
-- below find those out.
local got = redis.call('MGET', KEYS[1], KEYS[2])
local value, stored = got[1], got[2]

if value and value ~= ARGV[1] then
  -- The value is anybody's and may be huge: only the holder id travels.
  local slash = string.find(value, '/[^/]*$')
  local holder = slash and string.sub(value, 1, math.min(slash - 1, 256)) or ''
  return {holder, redis.call('PTTL', KEYS[1])}
end

local token = 0
if ARGV[3] ~= '0' then
  -- Whatever is not written as a token is foreign, "nan" and "1e3" included.
  local last = stored and string.find(stored, '^[1-9]%d*$') and tonumber(stored)
  if last and last >= 9007199254740992 then
    last = nil -- 2^53: beyond it numbers are not exact any more
  end
  if value and last then
    token = last -- an earlier send of this value minted it
  else
    -- The token is stored before the lock is set, so that a script that fails
    -- in between leaves no lock without an owner.
    local now = redis.call('TIME')
    token = now[1] * 1000000 + now[2]
    if last and last >= token then
      token = last + 1
    end
    -- As an argument it has all its digits, up to 2^53.
    if last then
      redis.call('SET', KEYS[2], token, 'PX', ARGV[3])
    elseif stored or not redis.call('SET', KEYS[2], token, 'NX', 'PX', ARGV[3]) then
      token = -token
    end
  end
end

if value then
  -- Never less than it has: this may be an earlier send that comes late, and
  -- whoever holds the lock by now counts on the time of a later one.
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then
    redis.call('PEXPIRE', KEYS[1], ARGV[2])
  end
elseif not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
  return redis.call('GET', KEYS[1]) -- not nil and not a string: WRONGTYPE
end
return token
