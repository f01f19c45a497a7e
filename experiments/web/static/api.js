// Requests to the server; what it refuses is thrown as an Error with its message.

async function request(path, options = {}) {
  let response;
  try {
    response = await fetch(`/api${path}`, options);
  } catch {
    throw Object.assign(new Error("The server does not answer. Is it still running?"), { offline: true });
  }
  const text = await response.text();
  if (!response.ok) throw failure(response, text);
  return text;
}

function failure(response, text) {
  let message = response.status === 413 ? "That is too large: the server takes 1 MB at most." : text;
  try {
    message = JSON.parse(text).error ?? text;
  } catch { /* The message is plain text. */ }
  return Object.assign(new Error(message || response.statusText), { status: response.status });
}

export const get = async (path) => JSON.parse(await request(path));

export const getText = (path) => request(path);

export const post = async (path, body = {}) => JSON.parse(await request(path, {
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
}));

// Ask again and again until `isDone(answer)` or until `goesOn()` says that nobody wants it; then
// what comes, an error too, is nobody's concern.
export async function poll(ask, isDone, goesOn, onAnswer = () => {}) {
  while (goesOn()) {
    try {
      const answer = await ask();
      if (!goesOn()) return null;
      onAnswer(answer);
      if (isDone(answer)) return answer;
    } catch (error) {
      if (goesOn()) throw error;
    }
  }
  return null;
}
