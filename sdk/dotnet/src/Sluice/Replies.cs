using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;

namespace Sluice
{
    /// <summary>What replies mean. Each method throws <see cref="SluiceException"/> if there is no decision.</summary>
    static class Replies
    {
        static readonly string[] WrittenNames =
        {
            "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset", "RateLimit-Policy", "RateLimit-Limit", "RateLimit-Remaining",
            "RateLimit-Reset", "RateLimit-Partition", "RateLimit", "Retry-After"
        };

        public static Decision Decision(Reply reply)
        {
            var body = Object(reply);
            var mayDecide = reply.Status / 100 == 2 || reply.Status == 429 || reply.Status / 100 == 5;
            if (!mayDecide || body == null || !(Member(body, "allowed") is bool)) throw Problem(reply.Status, body);
            if (reply.Status == 503 && Undecided(body)) throw Unavailable(body);
            reply.Headers.TryGetValue("x-request-id", out var id);
            return new Decision(body, reply.Status, RateLimitHeaders(reply), id);
        }

        /// <summary>For each check its decision, or the error if it has none.</summary>
        public static List<object> Batch(Reply reply, int expected)
        {
            var body = Object(reply);
            if (reply.Status != 200) throw Problem(reply.Status, body);
            if (body == null || !(Member(body, "results") is List<object> results) || results.Count != expected)
                throw new SluiceException(ErrorKind.Protocol, "the reply to the batch has not " + expected + " results");
            return results.Select(Result).ToList();
        }

        public static IDictionary<string, object> Lease(Reply reply)
        {
            var body = Object(reply);
            if (reply.Status != 200) throw Problem(reply.Status, body);
            return body ?? throw new SluiceException(ErrorKind.Protocol, "the reply is no JSON object");
        }

        static object Result(object result)
        {
            if (!(result is IDictionary<string, object> body)) return new SluiceException(ErrorKind.Protocol, "a result of the batch is no object");
            if (Member(body, "allowed") is bool allowed)
                return !allowed && Undecided(body) ? (object)Unavailable(body) : new Decision(body, allowed ? 200 : 429, null, null);
            return Member(body, "status") is long status
                ? Problem((int)status, body)
                : new SluiceException(ErrorKind.Protocol, "a result of the batch is no decision");
        }

        static bool Undecided(IDictionary<string, object> body) =>
            Member(body, "reason") is string reason && (reason == "overload" || reason == "no_snapshot");

        static SluiceException Unavailable(IDictionary<string, object> body) => new SluiceException(
            ErrorKind.Unavailable, 503, (string)body["reason"], "the agent cannot decide now: " + body["reason"], new IDictionary<string, object>[0]);

        static SluiceException Problem(int status, IDictionary<string, object> body)
        {
            if (status / 100 == 2 || status == 429)
                return new SluiceException(ErrorKind.Protocol, status, "", "the reply is no decision", new IDictionary<string, object>[0]);
            var problem = body ?? new Dictionary<string, object>();
            var detail = Member(problem, "detail") as string ?? Member(problem, "title") as string ?? "HTTP " + status;
            var errors = (Member(problem, "errors") as List<object>)?.OfType<IDictionary<string, object>>().ToList() ?? new List<IDictionary<string, object>>();
            return new SluiceException(status / 100 == 5 ? ErrorKind.Unavailable : ErrorKind.Refused, status, Member(problem, "code") as string ?? "", detail, errors);
        }

        static object Member(IDictionary<string, object> map, string name) => map.TryGetValue(name, out var value) ? value : null;

        static IDictionary<string, object> Object(Reply reply)
        {
            try
            {
                return Json.Parse(Encoding.UTF8.GetString(reply.Body)) as IDictionary<string, object>;
            }
            catch (FormatException)
            {
                return null;
            }
        }

        static Dictionary<string, string> RateLimitHeaders(Reply reply)
        {
            var headers = new Dictionary<string, string>();
            foreach (var header in reply.Headers)
            {
                var name = header.Key;
                if (name == "ratelimit" || name == "retry-after" || name.StartsWith("ratelimit-", StringComparison.Ordinal) ||
                    name.StartsWith("x-ratelimit-", StringComparison.Ordinal))
                    headers[WrittenNames.FirstOrDefault(written => written.ToLowerInvariant() == name) ?? name] = header.Value;
            }
            return headers;
        }
    }
}
