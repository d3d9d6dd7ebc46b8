-- Gives back what is left of a block of fencing tokens.
-- KEYS[1] where the tokens are stored
-- ARGV[1] the last token of the block, ARGV[2] the last one that was handed out
-- Replies 1 given back, 0 when others have drawn tokens since.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
return 1
