/**
 * Settings of the agent on this device. Only a person enters them, no link does; they stay in this
 * browser, and the token is sent to the loopback address that was entered with it.
 */

import { type AgentLink, parseAgent } from '../collect/agent-link.ts';

const STORAGE_KEY = 'tandem.agent';

export interface AgentChoice {
  readonly address: string;
  readonly token: string;
}

/** Reads the stored choice; empty if the text is damaged. */
export function parseAgentChoice(text: string | null): AgentChoice {
  try {
    const { address, token } = JSON.parse(text ?? '{}') as { [name: string]: unknown };
    if (typeof address === 'string' && typeof token === 'string') return { address, token };
  } catch {
    // Damaged.
  }
  return { address: '', token: '' };
}

/** Connects the fields with the link to the agent. */
export function connectAgentSettings(
  address: HTMLInputElement,
  token: HTMLInputElement,
  status: HTMLElement,
  link: AgentLink,
): void {
  const apply = () => {
    const url = parseAgent(address.value);
    const isInvalid = url === null && address.value.trim() !== '';
    address.setAttribute('aria-invalid', String(isInvalid));
    link.set(url, token.value.trim());
    if (isInvalid) status.textContent = 'Expected a loopback address and a port, such as 127.0.0.1:9465.';
  };
  const stored = parseAgentChoice(read());
  address.value = stored.address;
  token.value = stored.token;
  for (const field of [address, token])
    field.addEventListener('change', () => {
      write({ address: address.value.trim(), token: token.value.trim() });
      apply();
    });
  apply();
}

function read(): string | null {
  try {
    return localStorage.getItem(STORAGE_KEY);
  } catch {
    // Storage denied.
    return null;
  }
}

function write(choice: AgentChoice): void {
  try {
    if (choice.address === '' && choice.token === '') localStorage.removeItem(STORAGE_KEY);
    else localStorage.setItem(STORAGE_KEY, JSON.stringify(choice));
  } catch {
    // Storage denied: the choice lasts as long as the page.
  }
}
