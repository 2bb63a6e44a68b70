using System;
using System.Collections.Generic;
using System.Linq;

namespace Sluice
{
    /// <summary>
    /// What a request may be limited by. The agent judges the values; this class only collects them. Change it only before it is used.
    /// </summary>
    public sealed class Check
    {
        readonly Dictionary<string, object> fields = new Dictionary<string, object>();

        public Check() { }

        /// <param name="resource">What is asked for, such as GET:/orders.</param>
        /// <param name="subject">The subject that is charged, such as user:42.</param>
        public Check(string resource, string subject)
        {
            With("resource", resource);
            With("subject", subject);
        }

        /// <summary>The members of the call's body, by the agent's names.</summary>
        public IReadOnlyDictionary<string, object> Fields => fields;
        /// <summary>The trace that the call belongs to; null for none.</summary>
        public string Traceparent { get; private set; }
        public string Tracestate { get; private set; }

        /// <summary>Sets a field by the agent's name, such as cost, plan_id, endpoint or region.</summary>
        public Check With(string name, object value)
        {
            fields[name ?? throw new ArgumentNullException(nameof(name))] = value ?? throw new ArgumentNullException(name);
            return this;
        }

        /// <summary>Sets the trace that the call belongs to, as W3C Trace Context writes it.</summary>
        public Check WithTrace(string traceparent, string tracestate = null)
        {
            Traceparent = Visible(nameof(traceparent), traceparent);
            Tracestate = Visible(nameof(tracestate), tracestate);
            return this;
        }

        internal Check Copy()
        {
            var copy = new Check();
            foreach (var field in fields) copy.fields[field.Key] = field.Value;
            copy.Traceparent = Traceparent;
            copy.Tracestate = Tracestate;
            return copy;
        }

        static string Visible(string name, string text)
        {
            if (text != null && text.Any(c => c < 0x20 || c > 0x7e)) throw new ArgumentException(name + " must be visible ASCII");
            return text;
        }
    }
}
