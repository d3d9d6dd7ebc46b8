-- Sets aside a block of fencing tokens for a lock that still holds our value.
-- KEYS[1] the lock, KEYS[2] where its fencing tokens are stored (same slot)
-- ARGV[1] our value, ARGV[2] how many tokens
-- ARGV[3] the new time to live of the lock in ms, 0 leaves its expiry alone
-- ARGV[4] how much longer than the lock the token lives, in ms
-- Replies with the first token of the block; the last one is stored.
-- Replies 0 gone, -1 taken (another value, or another type), -2 when something
-- foreign stands where the tokens are stored.

local got = redis.call('MGET', KEYS[1], KEYS[2])
local value, stored = got[1], got[2]
if value ~= ARGV[1] then
  if value or redis.call('EXISTS', KEYS[1]) == 1 then
    return -1
  end
  return 0
end

local now = redis.call('TIME')
local first = now[1] * 1000000 + now[2]
if stored then
  local last = string.find(stored, '^[1-9]%d*$') and tonumber(stored)
  if not last or last >= 9007199254740992 then
    return -2
  end
  first = math.max(first, last + 1)
end
local top = first + ARGV[2] - 1
if top >= 9007199254740992 then
  return -2
end

local left = ARGV[3] + 0
if left == 0 then
  left = math.max(redis.call('PTTL', KEYS[1]), 0)
end
local text, expiry = string.format('%.0f', top), string.format('%.0f', left + ARGV[4])
if stored then
  redis.call('SET', KEYS[2], text, 'PX', expiry)
elseif not redis.call('SET', KEYS[2], text, 'NX', 'PX', expiry) then
  return -2
end
if ARGV[3] ~= '0' then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return first
