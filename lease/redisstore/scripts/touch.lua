-- Writes to a lock that still holds our value, and takes no time from it.
-- KEYS[1] the lock
-- ARGV[1] our value, ARGV[2] the time to live in ms that it has at least then
-- Replies 1 written, 0 gone, 2 taken (another value).
-- Fails with WRONGTYPE when the lock key is no string.

local value = redis.call('GET', KEYS[1])
if value == ARGV[1] then
  redis.call('PEXPIRE', KEYS[1], math.max(tonumber(ARGV[2]), redis.call('PTTL', KEYS[1])))
  return 1
end
return value and 2 or 0
