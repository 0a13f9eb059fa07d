//! The derive `State` of `xoff_units::state`: one list of fields, that of the type, for every walk
//! through a state.
//!
//! A type without parts that are restored in place is a `Value` as well. `xoff_units::state` lists
//! the attributes.

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::{Attribute, Data, DeriveInput, Fields, Ident, LitStr, Path, parse_macro_input};

/// Attributes of a type, variant or field.
#[derive(Default)]
struct Marks {
    /// Not saved.
    built: bool,
    /// Not compared.
    apart: bool,
    each: bool,
    slots: bool,
    feeder: bool,
    in_place: bool,
    canonical: bool,
    counted: bool,
    refused: bool,
    by: Option<Path>,
    meaning: Option<Ident>,
    unwritten: Option<LitStr>,
}

impl Marks {
    fn of(attributes: &[Attribute]) -> syn::Result<Marks> {
        let mut marks = Marks::default();
        for a in attributes.iter().filter(|a| a.path().is_ident("state")) {
            a.parse_nested_meta(|m| {
                let word = m.path.require_ident()?.to_string();
                match word.as_str() {
                    "built" => (marks.built, marks.apart) = (true, true),
                    "saved" => marks.apart = true,
                    "compared" => marks.built = true,
                    "each" => marks.each = true,
                    "slots" => marks.slots = true,
                    "feeder" => marks.feeder = true,
                    "in_place" => marks.in_place = true,
                    "canonical" => marks.canonical = true,
                    "counted" => marks.counted = true,
                    "refused" => marks.refused = true,
                    "by" => marks.by = Some(m.value()?.parse()?),
                    "unwritten" => marks.unwritten = Some(m.value()?.parse()?),
                    "deadline" | "sequence" | "counter" | "number" | "flow" | "slot"
                    | "iteration" | "frame" => {
                        let meaning = word[..1].to_uppercase() + &word[1..];
                        marks.meaning = Some(Ident::new(&meaning, m.path.require_ident()?.span()));
                    }
                    _ => return Err(m.error("no such attribute of a state: see xoff_units::state")),
                }
                Ok(())
            })?;
        }
        Ok(marks)
    }

    /// True if a value cannot be created from the saved form of the field.
    fn is_in_place(&self) -> bool {
        self.built || self.each || self.in_place || self.refused || self.by.is_some()
    }

    fn refusal(&self) -> Option<Tokens> {
        self.unwritten.as_ref().map(|why| quote!(if W::COMPARES { w.refuse(#why)?; }))
    }

    fn walk(&self, field: &Ident) -> Tokens {
        let unwritten = self.refusal();
        let plain = match (&self.by, &self.meaning) {
            (Some(module), _) => quote!(#module::walk(#field, w)?;),
            (None, Some(meaning)) if meaning == "Deadline" => {
                quote!(w.number(::xoff_units::state::Meaning::Deadline, #field.0)?;)
            }
            (None, Some(meaning)) => {
                quote!(w.number(::xoff_units::state::Meaning::#meaning, u64::from(*#field))?;)
            }
            (None, None) if self.slots => quote! {
                w.number(::xoff_units::state::Meaning::Plain, #field.len() as u64)?;
                #field.iter().try_for_each(|n| w.number(::xoff_units::state::Meaning::Slot, u64::from(*n)))?;
            },
            (None, None) if self.each => quote!(w.list(#field.iter())?;),
            (None, None) => quote!(::xoff_units::state::State::walk(#field, w)?;),
        };
        let plain = if self.feeder {
            quote!(let before = w.feeder(true); #plain w.feeder(before);)
        } else {
            plain
        };
        match (self.built, self.apart) {
            (true, true) => quote!(let _ = #field;),
            (true, false) => quote!(if W::COMPARES { #unwritten #plain }),
            (false, true) => quote!(if !W::COMPARES { #plain }),
            (false, false) => quote!(#unwritten #plain),
        }
    }

    fn restore(&self, field: &Ident) -> Tokens {
        match &self.by {
            _ if self.built => quote!(let _ = #field;),
            Some(module) => quote!(#module::restore(#field, from)?;),
            None if self.each => quote!({
                let there = #field.iter().count();
                ::xoff_units::state::restore_each(there, #field.iter_mut(), from)?;
            }),
            None => quote!(::xoff_units::state::State::restore(#field, from)?;),
        }
    }
}

/// Fields of a struct or variant: a name to bind each to, a pattern, and their attributes.
struct Parts {
    names: Vec<Ident>,
    pattern: Tokens,
    marks: Vec<Marks>,
    named: bool,
}

impl Parts {
    fn of(fields: &Fields) -> syn::Result<Parts> {
        let names: Vec<Ident> = (0..fields.len()).map(|n| format_ident!("field_{n}")).collect();
        let marks = fields.iter().map(|f| Marks::of(&f.attrs)).collect::<syn::Result<Vec<_>>>()?;
        let pattern = match fields {
            Fields::Unit => quote!(),
            Fields::Unnamed(_) => quote!((#(#names),*)),
            Fields::Named(named) => {
                let own = named.named.iter().map(|f| &f.ident);
                quote!({ #(#own: #names),* })
            }
        };
        Ok(Parts { names, pattern, marks, named: matches!(fields, Fields::Named(_)) })
    }

    fn walk(&self) -> Tokens {
        self.marks.iter().zip(&self.names).map(|(m, name)| m.walk(name)).collect()
    }

    fn restore(&self) -> Tokens {
        self.marks.iter().zip(&self.names).map(|(m, name)| m.restore(name)).collect()
    }

    fn read(&self) -> Tokens {
        let names = &self.names;
        quote!(#(let #names = ::xoff_units::state::Value::read(from)?;)*)
    }

    fn are_in_place(&self) -> bool {
        self.marks.iter().any(Marks::is_in_place)
    }
}

/// Bodies of the methods.
struct Bodies {
    walk: Tokens,
    /// `None`: a new value replaces the old one.
    restore: Option<Tokens>,
    read: Tokens,
}

/// A state, and the value of one, if no part of it is restored in place.
#[proc_macro_derive(State, attributes(state))]
pub fn derive_state(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    state(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

fn state(input: &DeriveInput) -> syn::Result<Tokens> {
    let (name, (generics, of, bounds)) = (&input.ident, input.generics.split_for_impl());
    let marks = Marks::of(&input.attrs)?;
    let canonical = marks.canonical.then(|| {
        quote!(if W::COMPARES {
            return self.compare(w);
        })
    });
    let unwritten = marks.refusal();
    let in_place = marks.in_place;
    let counters = marks.counted.then(|| counters(input)).transpose()?;
    let Bodies { walk, restore, read } = match &input.data {
        Data::Struct(s) => {
            let p = Parts::of(&s.fields)?;
            let (pattern, walk, restore, read) = (&p.pattern, p.walk(), p.restore(), p.read());
            let text = name.to_string();
            let begin = p.named.then(|| quote!(w.structure(#text);));
            let restore = (in_place || p.are_in_place())
                .then(|| quote!(let #name #pattern = self; #restore Ok(())));
            Bodies {
                walk: quote!(let #name #pattern = self; #begin #walk),
                restore,
                read: quote!(#read Ok(#name #pattern)),
            }
        }
        Data::Enum(e) => variants(name, e, in_place)?,
        Data::Union(_) => {
            return Err(syn::Error::new_spanned(name, "a union has no fields of its own"));
        }
    };
    let value = restore.is_none().then(|| {
        quote! {
            #[automatically_derived]
            impl #generics ::xoff_units::state::Value for #name #of #bounds {
                fn read(from: &mut ::xoff_units::state::Reader) -> Result<Self, ::xoff_units::state::Broken> { #read }
            }
        }
    });
    let restore =
        restore.unwrap_or_else(|| quote!(*self = ::xoff_units::state::Value::read(from)?; Ok(())));
    Ok(quote! {
        #[automatically_derived]
        impl #generics ::xoff_units::state::State for #name #of #bounds {
            fn walk<W: ::xoff_units::state::Walk>(&self, w: &mut W) -> Result<(), W::Stop> {
                #unwritten
                #canonical
                #walk
                Ok(())
            }
            fn restore(&mut self, from: &mut ::xoff_units::state::Reader) -> Result<(), ::xoff_units::state::Broken> { #restore }
        }
        #value
        #counters
    })
}

fn counters(input: &DeriveInput) -> syn::Result<Tokens> {
    let Data::Struct(s) = &input.data else {
        return Err(syn::Error::new_spanned(&input.ident, "counters are fields of a struct"));
    };
    let (name, Parts { names, pattern, marks, .. }) = (&input.ident, Parts::of(&s.fields)?);
    let each = names.iter().zip(marks).map(|(field, m)| match m.apart {
        true => quote!(let _ = #field;),
        false => quote!(::xoff_units::state::Counters::counters(#field, f);),
    });
    Ok(quote! {
        #[automatically_derived]
        impl ::xoff_units::state::Counters for #name {
            fn counters(&mut self, f: &mut impl FnMut(&mut u64)) {
                let #name #pattern = self;
                #(#each)*
            }
        }
    })
}

fn variants(name: &Ident, e: &syn::DataEnum, mut in_place: bool) -> syn::Result<Bodies> {
    let (mut walks, mut restores, mut reads) = (Vec::new(), Vec::new(), Vec::new());
    for (v, number) in e.variants.iter().zip(0u8..) {
        let (own, marks, p) = (&v.ident, Marks::of(&v.attrs)?, Parts::of(&v.fields)?);
        in_place |= marks.refused || p.are_in_place();
        let (pattern, walk, restore, read) = (&p.pattern, p.walk(), p.restore(), p.read());
        if marks.refused {
            let what = format!("{name}::{own}");
            walks.push(quote!(#name::#own { .. } => w.refuse(if W::COMPARES { "a mechanism from outside" } else { #what })?,));
            continue;
        }
        let unwritten = marks.refusal();
        walks.push(quote!(#name::#own #pattern => { #unwritten w.number(::xoff_units::state::Meaning::Plain, #number as u64)?; #walk }));
        restores.push(quote!(#name::#own #pattern if variant == #number => { #restore }));
        reads.push(quote!(#number => { #read Ok(#name::#own #pattern) }));
    }
    let broken = |why: String| quote!(Err(::xoff_units::state::Broken(#why)));
    let (another, none) =
        (broken(format!("another kind of {name}")), broken(format!("no {name} has this number")));
    let restore = quote! {
        let variant = from.byte()?;
        match self { #(#restores)* #[allow(unreachable_patterns)] _ => return #another }
        Ok(())
    };
    Ok(Bodies {
        walk: quote!(match self { #(#walks)* }),
        restore: in_place.then_some(restore),
        read: quote!(match from.byte()? { #(#reads)* _ => #none }),
    })
}
