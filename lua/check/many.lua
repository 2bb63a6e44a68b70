#!lua
-- Judges several rulebooks in one call, each on its own keys. If all enforced rulebooks admit, all of them are charged;
-- otherwise none is. Each further rulebook is a shadow: it is judged and charged by itself, and its denial or error has
-- no effect on the others.
-- The build assembles this script: judge() consists of lua/check/frame.lua.
--
-- KEYS  for each rulebook the keys that check.lua has.
-- ARGV  1 numbers, a byte each: how many rulebooks are enforced together (they come first), then for each rulebook its
--       number of keys, its number of arguments here, and 0 · then for each rulebook the arguments that check.lua has.
--       A rulebook that shares arguments with an earlier one has that one's number (from 1) in place of the 0. It has no
--       arguments here if it shares all of them, and one, its parameters, if it shares the others.
-- Reply: for each rulebook the numbers that check.lua replies, packed (d each), or the error it met: one text costs Redis
--       and the agent less than many integers. `allowed` of an enforced rulebook says whether all of them admitted. If
--       the time is outside the period of a quota of one of them, all of them reply {-1, now}.
--       Several enforced rulebooks need `explain`: the reports of their limits say which of the rulebooks admitted.

--@head

-- Judges one rulebook and returns its reply. `together`, if given, is a function that judge() calls between the passes.
-- Its argument says whether this rulebook admits, and its result whether to charge.
-- Returns {-1, now} after the first pass if the time is outside the period of a quota.
local function judge(KEYS, ARGV, together)
  --@first_pass
  if together then
    allowed = together(allowed)
    binding = binding or {}                     -- this rulebook may admit, while another one does not
  end
  --@second_pass
end

local counts = {string.byte(ARGV[1], 1, -1)}
local rulebooks = (#counts - 1) / 3
local keys_of, arguments_of = {}, {}            -- KEYS and ARGV of each rulebook
local key, argument = 1, 2
for i = 1, rulebooks do
  local keys, arguments, shared = counts[3 * i - 1], counts[3 * i], arguments_of[counts[3 * i + 1]]
  keys_of[i] = {unpack(KEYS, key, key + keys - 1)}
  if not shared then arguments_of[i] = {unpack(ARGV, argument, argument + arguments - 1)}
  elseif arguments == 0 then arguments_of[i] = shared
  else arguments_of[i] = {ARGV[argument], unpack(shared, 2)} end
  key, argument = key + keys, argument + arguments
end
local replies = {}

local function packed(numbers) return pack('<' .. string.rep('d', #numbers), unpack(numbers)) end

-- Judges the rulebooks from `first` to `last`. Charges all of them if all admit. If there are several, judge() runs as
-- a coroutine for each, which pauses between the two passes. A single rulebook needs no coroutine.
local function judge_together(first, last)
  if first == last then
    replies[first] = packed(judge(keys_of[first], arguments_of[first]))
    return
  end
  local admitted, wrong_period, judges = true, nil, {}
  for i = first, last do
    judges[i] = coroutine.wrap(judge)
    local allowed = judges[i](keys_of[i], arguments_of[i], coroutine.yield)
    if type(allowed) == 'table' then wrong_period = allowed end
    admitted = admitted and allowed
  end
  for i = first, last do replies[i] = packed(wrong_period or judges[i](admitted)) end
end

-- Calls judge_together(). An error becomes the reply of these rulebooks and does not end the script.
local function reply_together(first, last)
  local done, failure = pcall(judge_together, first, last)   -- `failure` is a text, even if a command failed
  if done then return end
  for i = first, last do replies[i] = {err = failure} end
end

local enforced = counts[1]
if enforced > 0 then reply_together(1, enforced) end
for i = enforced + 1, rulebooks do reply_together(i, i) end
return replies
