/** Checks a record against crates/playback/session.schema.json: as much of JSON Schema as that file uses. */

import { readFileSync } from 'node:fs';

interface Schema {
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly maxItems?: number;
  readonly properties?: { readonly [name: string]: Schema };
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | Schema;
  readonly maxProperties?: number;
}

const KNOWN = new Set([
  ...['$schema', '$id', 'title', 'description', 'type', 'const', 'enum', 'pattern', 'maxLength', 'minimum', 'maximum'],
  ...['items', 'maxItems', 'properties', 'required', 'additionalProperties', 'maxProperties'],
]);

/** What is wrong with it, each with its place; nothing where it fits. */
export function misfits(value: unknown): string[] {
  const schema = JSON.parse(readFileSync('../crates/playback/session.schema.json', 'utf8')) as Schema;
  return check(value, schema, '');
}

function check(value: unknown, schema: Schema, at: string): string[] {
  const wrong: string[] = [];
  const say = (ok: boolean, what: string) => {
    if (!ok) wrong.push(`${at === '' ? 'the record' : at} ${what}`);
  };
  for (const key of Object.keys(schema)) say(KNOWN.has(key), `is checked by ${key}, which this does not know`);
  const types = schema.type === undefined ? [] : [schema.type].flat();
  say(types.length === 0 || types.some((type) => isA(value, type)), `is no ${types.join(' or ')}`);
  say(schema.const === undefined || value === schema.const, `is not ${schema.const}`);
  say(schema.enum?.includes(value) ?? true, `is none of ${schema.enum?.join(', ')}`);
  if (typeof value === 'string') {
    say(schema.pattern === undefined || new RegExp(schema.pattern).test(value), `is not like ${schema.pattern}`);
    say(value.length <= (schema.maxLength ?? Number.POSITIVE_INFINITY), 'is too long');
  } else if (typeof value === 'number') {
    say(value >= (schema.minimum ?? Number.NEGATIVE_INFINITY), `is ${value}, too low`);
    say(value <= (schema.maximum ?? Number.POSITIVE_INFINITY), `is ${value}, too high`);
  } else if (Array.isArray(value)) {
    say(value.length <= (schema.maxItems ?? Number.POSITIVE_INFINITY), 'has too many items');
    const { items } = schema;
    if (items !== undefined) wrong.push(...value.flatMap((item, index) => check(item, items, `${at}[${index}]`)));
  } else if (typeof value === 'object' && value !== null) {
    say(Object.keys(value).length <= (schema.maxProperties ?? Number.POSITIVE_INFINITY), 'has too many members');
    for (const name of schema.required ?? []) say(name in value, `has no ${name}`);
    for (const [name, member] of Object.entries(value)) {
      const known = schema.properties?.[name];
      const others = schema.additionalProperties ?? true;
      if (known !== undefined) wrong.push(...check(member, known, `${at}.${name}`));
      else if (typeof others === 'object') wrong.push(...check(member, others, `${at}.${name}`));
      else say(others, `has ${name}, which nobody knows`);
    }
  }
  return wrong;
}

function isA(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null;
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'object':
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    default:
      // The names of the others are those of JavaScript.
      return `${typeof value}` === type;
  }
}
