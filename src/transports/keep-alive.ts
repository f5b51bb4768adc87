/** Keeps the process alive while somebody awaits an answer; shared words and ports of idle pools do not. */

let holders = 0;
let timer: NodeJS.Timeout | undefined;

/** Keeps the process alive until the function that it returns is called. */
export function keepAlive(): () => void {
  if (holders++ === 0) timer = setInterval(() => {}, 2 ** 30);
  let held = true;
  return () => {
    if (!held) return;
    held = false;
    if (--holders > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}
