// Lines up for an item, tells where it stands, and buys. Usage: node buy.js https://queue.example sku-1
import { Sluice, SluiceError } from './sluice';

async function main(url: string, item: string): Promise<void> {
  const sluice = new Sluice({ url });
  try {
    await sluice.status(item);
  } catch (error) {
    if (!(error instanceof SluiceError) || error.code !== 'no_place') throw error;
    console.log('no place yet');
  }
  const answer = await sluice.wait(item, {
    update: ({ action, place }) => {
      if (action === 'wait' && place) console.log(`position ${place.position}, about ${place.eta_seconds} s`);
    },
  });
  console.log(`${answer.action}: ${answer.reason}`);
  if (answer.pass) {
    const [renewed] = await sluice.renew([answer.pass.token]);
    console.log(renewed && 'token' in renewed ? `inside until ${renewed.expires_at}` : 'no longer inside');
    await sluice.finish(item);
    console.log('bought');
  }
}

main(process.argv[2] ?? '', process.argv[3] ?? '').catch((error) => {
  console.error(String(error));
  process.exitCode = 1;
});
