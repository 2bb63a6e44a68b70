package dev.sluice.spring;

import jakarta.servlet.http.HttpServletRequest;
import java.lang.reflect.Method;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.ParameterNameDiscoverer;
import org.springframework.expression.EvaluationContext;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.expression.spel.support.StandardEvaluationContext;

/** SpEL expressions of annotations and properties, parsed once. */
final class Expressions {
  private final Map<String, Expression> parsed = new ConcurrentHashMap<>();
  private final SpelExpressionParser parser = new SpelExpressionParser();
  private final ParameterNameDiscoverer names = new DefaultParameterNameDiscoverer();
  private final BeanFactory beans;

  Expressions(BeanFactory beans) {
    this.beans = beans;
  }

  /** Variables for a call: the arguments by their names. */
  EvaluationContext ofCall(Object target, Method method, Object[] arguments, Object request) {
    MethodBasedEvaluationContext context = new MethodBasedEvaluationContext(target, method, arguments, names);
    context.setBeanResolver(new BeanFactoryResolver(beans));
    context.setVariable("request", request);
    return context;
  }

  /** Variables for a request: {@code request}, path variables, and request parameters. */
  EvaluationContext ofRequest(HttpServletRequest request, Map<?, ?> pathVariables) {
    StandardEvaluationContext context = new StandardEvaluationContext(request) {
      @Override
      public Object lookupVariable(String name) {
        if (name.equals("request")) {
          return request;
        }
        Object value = pathVariables.get(name);
        return value != null ? value : request.getParameter(name);
      }
    };
    context.setBeanResolver(new BeanFactoryResolver(beans));
    return context;
  }

  /** The text of an expression's value; null for null. */
  String text(String expression, EvaluationContext context) {
    Object value = parse(expression).getValue(context);
    return value == null ? null : value.toString();
  }

  /** The whole number of an expression's value. */
  long number(String expression, EvaluationContext context) {
    Long value = expression.equals("1") ? Long.valueOf(1) : parse(expression).getValue(context, Long.class);
    if (value == null) {
      throw new IllegalStateException("the cost " + expression + " must be a whole number; got null");
    }
    return value;
  }

  private Expression parse(String expression) {
    return parsed.computeIfAbsent(expression, this::parseNow);
  }

  private Expression parseNow(String expression) {
    try {
      return parser.parseExpression(expression);
    } catch (ParseException wrong) {
      throw new IllegalStateException("the expression " + expression + " is no SpEL: " + wrong.getMessage(), wrong);
    }
  }
}
