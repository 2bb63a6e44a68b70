package dev.sluice.spring;

import dev.sluice.client.Sluice;
import dev.sluice.servlet.LimitedRequest;
import jakarta.servlet.Filter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnWebApplication;
import org.springframework.boot.web.servlet.FilterRegistrationBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.web.servlet.HandlerExceptionResolver;
import org.springframework.web.servlet.config.annotation.InterceptorRegistry;
import org.springframework.web.servlet.config.annotation.WebMvcConfigurer;

/** The check of requests in Spring MVC. */
@AutoConfiguration(after = SluiceAutoConfiguration.class)
@ConditionalOnClass(WebMvcConfigurer.class)
@ConditionalOnWebApplication(type = ConditionalOnWebApplication.Type.SERVLET)
@ConditionalOnBean(Sluice.class)
public class SluiceWebAutoConfiguration {
  private static final int AFTER_FORWARDED_HEADERS = Ordered.HIGHEST_PRECEDENCE + 100;

  @Bean
  HandlerExceptionResolver rateLimitedExceptionResolver(ObjectProvider<RateLimitInterceptor> interceptor) {
    return new RateLimitedExceptionResolver(interceptor);
  }

  /** Only if requests are checked. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnProperty(prefix = "sluice.web", name = "enabled", matchIfMissing = true)
  static class Requests {
    /** Sees the whole of a request; the interceptor checks it in between, when the route is known. */
    @Bean
    FilterRegistrationBean<Filter> sluiceFilter() {
      FilterRegistrationBean<Filter> registration = new FilterRegistrationBean<>((request, response, chain) -> {
        if (!(request instanceof HttpServletRequest asked) || !(response instanceof HttpServletResponse answer)) {
          chain.doFilter(request, response);
          return;
        }
        LimitedRequest limited = LimitedRequest.begin(asked, answer);
        try {
          chain.doFilter(request, limited.response());
        } finally {
          limited.finish();
        }
      });
      registration.setOrder(AFTER_FORWARDED_HEADERS);
      return registration;
    }

    @Bean
    RateLimitInterceptor rateLimitInterceptor(Sluice sluice, SluiceProperties properties, BeanFactory beans,
        ObjectProvider<SluiceWebCustomizer> customizers) {
      return new RateLimitInterceptor(sluice, properties.web(), new Expressions(beans), customizers.orderedStream().toList());
    }

    @Bean
    WebMvcConfigurer rateLimitConfigurer(RateLimitInterceptor interceptor) {
      return new WebMvcConfigurer() {
        @Override
        public void addInterceptors(InterceptorRegistry registry) {
          registry.addInterceptor(interceptor).order(Ordered.HIGHEST_PRECEDENCE);
        }
      };
    }
  }
}
