// A small shop: orders are limited for each user, exports cost more, and reports take a lease for as long as they are written.
//   npm install && PORT=3000 npm start
// It runs without an agent too: its checks are then allowed, and the log says why.
import express from 'express';
import { Sluice } from '@sluice/client';
import { sluice } from '@sluice/client/express';

const client = new Sluice();
const app = express();
app.set('trust proxy', 'loopback');   // whose X-Forwarded-For says who the client is

app.use(sluice({
  client,
  // Users count for themselves, everybody else by address.
  key: (request) => (request.get('x-user') ? `user:${request.get('x-user')}` : undefined),
  exempt: ['/healthz'],
  routes: { 'GET /exports/{id}': { cost: 10 } },
}));

app.get('/healthz', (_, response) => response.send('ok'));
app.get('/orders/:id', (request, response) => response.json({ id: request.params.id, remaining: request.sluice.remaining }));
app.get('/exports/:id', (request, response) => response.type('csv').send(`id\n${request.params.id}\n`));

// With a concurrency limit the lease ends when the response has been sent, when this fails, or when the browser goes away.
app.get('/reports/:id', async (request, response) => {
  for (let page = 1; page <= 3; ++page) {
    response.write(`page ${page} of report ${request.params.id}\n`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  response.end();
});

const server = app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
process.on('SIGTERM', () => server.close(() => client.close()));
