#!lua
-- Judges several rulebooks in one call, each on its own keys. Those that are enforced together are charged all or not at
-- all. Each of the others is a shadow: it is judged and charged by itself, and neither its denial nor its error concerns
-- the rest.
-- The build assembles this script: lua/check/frame.lua is judge().
--
-- KEYS  for each rulebook the keys that check.lua has.
-- ARGV  1 numbers, a byte each: how many rulebooks are enforced together (they come first), then for each rulebook its
--       number of keys and its number of arguments · then for each rulebook the arguments that check.lua has.
-- Reply: for each rulebook what check.lua replies, or the error it met. `allowed` of an enforced rulebook says whether
--       all of them admitted. All enforced ones have {-1, now} where a quota's period of one of them does not hold now.
--       Several enforced rulebooks have to be asked to explain: their limits' own reports say which of them admitted.

--@head

-- First pass over one rulebook. Returns whether it admits, and a function that makes the second pass and returns the
-- reply. That function is told whether to charge.
-- Returns {-1, now} alone where a quota's period does not hold now.
local function judge(KEYS, ARGV)
  --@first_pass
  return allowed, function(allowed)
    binding = binding or {}                     -- it admits, but another rulebook does not
    --@second_pass
  end
end

local counts = {string.byte(ARGV[1], 1, -1)}
local rulebooks = {}                            -- of each its KEYS and its ARGV
local key, argument = 1, 2
for i = 2, #counts, 2 do
  local keys, arguments = counts[i], counts[i + 1]
  rulebooks[i / 2] = {{unpack(KEYS, key, key + keys - 1)}, {unpack(ARGV, argument, argument + arguments - 1)}}
  key, argument = key + keys, argument + arguments
end
local replies = {}

-- Judges the rulebooks from `first` to `last`. Charges all of them if all admit.
local function judge_together(first, last)
  local admitted, wrong_period, second_pass = true, nil, {}
  for i = first, last do
    local allowed
    allowed, second_pass[i] = judge(rulebooks[i][1], rulebooks[i][2])
    if not second_pass[i] then wrong_period = allowed end
    admitted = admitted and allowed
  end
  for i = first, last do replies[i] = wrong_period or second_pass[i](admitted) end
end

-- The same, where an error is the reply of these rulebooks only.
local function reply_together(first, last)
  local done, failure = pcall(judge_together, first, last)   -- the failure is a text, also that of a command
  if done then return end
  for i = first, last do replies[i] = {err = failure} end
end

local enforced = counts[1]
if enforced > 0 then reply_together(1, enforced) end
for i = enforced + 1, #rulebooks do reply_together(i, i) end
return replies
